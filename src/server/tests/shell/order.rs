//! Frames come in whole, and answers leave in the order of their requests whoever gives them when.

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{TestServer, answer, eventually, framed};
use bytes::Bytes;
use ottla_broker::{Reply, Responder};
use parking_lot::Mutex;

/// Requests that wait until the test answers them.
type Parked = Arc<Mutex<Vec<(Bytes, Responder)>>>;

fn parking() -> (Parked, impl Fn(Bytes, Responder) + Send + Sync) {
    let parked = Parked::default();
    let handler = {
        let parked = parked.clone();
        move |frame: Bytes, responder: Responder| parked.lock().push((frame, responder))
    };
    (parked, handler)
}

fn echo(frame: Bytes, responder: Responder) {
    responder(answer(&frame));
}

#[test]
fn frames_are_put_together_from_whatever_pieces_arrive() {
    let server = TestServer::start(echo);
    let mut client = server.connect();
    let large = vec![7; 300_000];
    let bytes = [framed(b"one"), framed(b"two"), framed(&large), framed(b"")].concat();
    for piece in bytes.chunks(70_001) {
        client.stream.write_all(piece).unwrap();
    }
    for byte in framed(b"slow") {
        client.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(client.receive(), b"one");
    assert_eq!(client.receive(), b"two");
    assert_eq!(client.receive(), large);
    assert_eq!(client.receive(), b"");
    assert_eq!(client.receive(), b"slow");
}

#[test]
fn answers_given_in_reverse_leave_in_order() {
    let (parked, handler) = parking();
    let server = TestServer::start(handler);
    let mut client = server.connect();
    for number in 0..10u8 {
        client.send(&[number]);
    }
    eventually("all ten are in", || parked.lock().len() == 10);
    while let Some((frame, responder)) = parked.lock().pop() {
        responder(answer(&frame));
    }
    for number in 0..10u8 {
        assert_eq!(client.receive(), [number]);
    }
}

#[test]
fn reading_stops_at_64_requests_and_goes_on_when_the_first_is_answered() {
    let (parked, handler) = parking();
    let server = TestServer::start(handler);
    let mut client = server.connect();
    for number in 0..100u8 {
        client.send(&[number]);
    }
    eventually("64 are in", || parked.lock().len() == 64);
    let (_, last) = parked.lock().pop().unwrap();
    last(answer(&[63]));
    assert!(client.hears_nothing());
    assert_eq!(parked.lock().len(), 63);
    let (_, first) = parked.lock().remove(0);
    first(answer(&[0]));
    assert_eq!(client.receive(), [0]);
    eventually("one more is in", || parked.lock().len() == 63);
    assert_eq!(parked.lock().last().unwrap().0, [64].as_slice());
    let still_in = AtomicUsize::new(100 - 2);
    eventually("all are answered", || {
        let come: Vec<_> = parked.lock().drain(..).collect();
        still_in.fetch_sub(come.len(), Ordering::SeqCst);
        come.into_iter().for_each(|(frame, responder)| responder(answer(&frame)));
        still_in.load(Ordering::SeqCst) == 0
    });
    for expected in 1..100 {
        assert_eq!(client.receive(), [expected]);
    }
}

#[test]
fn a_waiting_request_does_not_hold_up_other_connections() {
    let (parked, park) = parking();
    let server = TestServer::start(
        move |frame, responder| if frame == b"wait".as_slice() { park(frame, responder) } else { echo(frame, responder) },
    );
    let mut waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|client| client.send(b"wait"));
    eventually("all wait", || parked.lock().len() == 20);
    let mut other = server.connect();
    other.send(b"now");
    assert_eq!(other.receive(), b"now");
}

#[test]
fn a_request_without_answer_takes_its_turn() {
    let server =
        TestServer::start(|frame, responder| responder(if frame == b"acks=0".as_slice() { Reply::Nothing } else { answer(&frame) }));
    let mut client = server.connect();
    client.send(b"acks=0");
    client.send(b"acks=1");
    client.send(b"acks=0");
    assert_eq!(client.receive(), b"acks=1");
    assert!(client.hears_nothing());
}

#[test]
fn a_request_that_closes_lets_earlier_answers_leave_and_later_requests_be() {
    let handled = Arc::new(AtomicUsize::new(0));
    let (parked, park) = parking();
    let server = TestServer::start({
        let handled = handled.clone();
        move |frame, responder| {
            handled.fetch_add(1, Ordering::SeqCst);
            match frame.as_ref() {
                b"bad" => responder(Reply::Close("it is bad".to_owned())),
                _ => park(frame, responder),
            }
        }
    });
    let mut client = server.connect();
    client.stream.write_all(&[framed(b"good"), framed(b"bad"), framed(b"late")].concat()).unwrap();
    eventually("the good one waits", || parked.lock().len() == 1);
    assert!(client.hears_nothing(), "it is not closed before its answers are sent");
    let (frame, responder) = parked.lock().remove(0);
    responder(answer(&frame));
    assert_eq!(client.receive(), b"good");
    assert!(client.is_closed());
    assert_eq!(handled.load(Ordering::SeqCst), 2);
    eventually("the service is told", || server.service.disconnected.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_client_that_has_finished_sending_gets_its_answers() {
    let (parked, handler) = parking();
    let server = TestServer::start(handler);
    let mut client = server.connect();
    client.send(b"last");
    client.stream.shutdown(Shutdown::Write).unwrap();
    eventually("it is in", || parked.lock().len() == 1);
    assert!(client.hears_nothing());
    let (frame, responder) = parked.lock().remove(0);
    responder(answer(&frame));
    assert_eq!(client.receive(), b"last");
    assert!(client.is_closed());
}

#[test]
fn a_client_that_leaves_within_a_request_is_forgotten() {
    let server = TestServer::start(echo);
    let mut client = server.connect();
    client.stream.write_all(&framed(b"half a request")[..9]).unwrap();
    drop(client);
    eventually("the service is told", || server.service.disconnected.load(Ordering::SeqCst) == 1);
    let mut other = server.connect();
    other.send(b"next");
    assert_eq!(other.receive(), b"next");
}

#[test]
fn a_stopping_server_answers_what_it_has_read() {
    let (parked, handler) = parking();
    let mut server = TestServer::start(handler);
    let (mut idle, mut busy) = (server.connect(), server.connect());
    busy.send(b"in time");
    eventually("it is in", || parked.lock().len() == 1);
    let (frame, responder) = parked.lock().remove(0);
    let answering = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        responder(answer(&frame));
    });
    server.shut_down();
    assert_eq!(busy.receive(), b"in time");
    assert!(busy.is_closed() && idle.is_closed());
    answering.join().unwrap();
}
