//! What a client cannot make the server do.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{TestServer, answer, eventually, framed, listener};
use bytes::Bytes;
use ottla_broker::{Reply, Responder};
use ottla_protocol::Part;
use ottla_server::{BoundListeners, ServerSettings};
use parking_lot::Mutex;

fn echo(frame: Bytes, responder: Responder) {
    responder(answer(&frame));
}

#[test]
fn a_negative_or_oversized_length_closes_only_its_connection() {
    let server = TestServer::start_with(|settings| settings.connection.request_bytes_max = 1000, echo);
    let mut good = server.connect();
    for length in [-1i32, i32::MIN, 1001, i32::MAX] {
        let mut bad = server.connect();
        bad.send(b"before");
        bad.stream.write_all(&length.to_be_bytes()).unwrap();
        assert_eq!(bad.receive(), b"before");
        assert!(bad.is_closed(), "{length}");
    }
    good.send(&[1; 1000]);
    assert_eq!(good.receive().len(), 1000);
}

#[test]
fn a_frame_waits_for_its_share_of_the_budget() {
    let parked = Arc::new(Mutex::new(Vec::new()));
    let server = TestServer::start_with(|settings| settings.queued_request_bytes_max = 1000, {
        let parked = parked.clone();
        move |frame, responder| parked.lock().push((frame, responder))
    });
    let mut first = server.connect();
    first.send(&[1; 900]);
    eventually("the first is in", || parked.lock().len() == 1);
    let (mut larger_than_all, mut small) = (server.connect(), server.connect());
    larger_than_all.send(&[2; 5000]);
    // It is in line before the small one.
    assert!(larger_than_all.hears_nothing());
    small.send(&[3; 10]);
    assert!(small.hears_nothing());
    assert_eq!(parked.lock().len(), 1);
    for (expected, client) in [(900, &mut first), (5000, &mut larger_than_all), (10, &mut small)] {
        eventually("it is in", || !parked.lock().is_empty());
        let (frame, responder): (Bytes, Responder) = parked.lock().pop().unwrap();
        assert_eq!(frame.len(), expected);
        assert!(parked.lock().is_empty(), "one at a time");
        responder(answer(&frame));
        assert_eq!(client.receive().len(), expected);
    }
}

#[test]
fn a_request_that_waits_without_its_frame_holds_nothing_of_the_budget() {
    let parked = Arc::new(Mutex::new(Vec::new()));
    let server = TestServer::start_with(|settings| settings.queued_request_bytes_max = 100, {
        let parked = parked.clone();
        move |_, responder: Responder| parked.lock().push(responder)
    });
    let mut clients: Vec<_> = (0..10).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&[0; 100]));
    eventually("all wait", || parked.lock().len() == 10);
}

#[test]
fn an_idle_connection_is_closed_and_one_that_is_used_is_not() {
    let server = TestServer::start_with(|settings| settings.connection.max_idle = Some(Duration::from_millis(300)), echo);
    let (mut idle, mut used) = (server.connect(), server.connect());
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(600) {
        used.send(b"x");
        assert_eq!(used.receive(), b"x");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(idle.is_closed());
    used.send(b"still here");
    assert_eq!(used.receive(), b"still here");
}

#[test]
fn a_client_that_stalls_within_a_request_is_idle() {
    let server = TestServer::start_with(|settings| settings.connection.max_idle = Some(Duration::from_millis(100)), echo);
    let mut client = server.connect();
    client.stream.write_all(&framed(&[0; 100])[..50]).unwrap();
    assert!(client.is_closed());
}

#[test]
fn an_address_has_so_many_connections() {
    let server = TestServer::start_with(
        |settings| {
            settings.limits.max_connections_per_ip = 0;
            settings.limits.max_connections_per_ip_overrides = vec![("localhost".to_owned(), 2)];
        },
        echo,
    );
    let (mut first, mut second, mut third) = (server.connect(), server.connect(), server.connect());
    for client in [&mut first, &mut second] {
        client.send(b"x");
        assert_eq!(client.receive(), b"x");
    }
    assert!(third.is_closed());
    drop(first);
    eventually("the first is gone", || server.service.disconnected.load(Ordering::SeqCst) == 1);
    eventually("there is room", || {
        let mut fourth = server.connect();
        fourth.stream.write_all(&framed(b"x")).is_ok() && fourth.try_receive().is_ok()
    });
}

#[test]
fn one_connection_too_many_waits_until_another_ends() {
    let server = TestServer::start_with(|settings| settings.limits.max_connections = 1, echo);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.send(b"x");
    assert_eq!(first.receive(), b"x");
    second.send(b"y");
    assert!(second.hears_nothing());
    drop(first);
    assert_eq!(second.receive(), b"y");
}

#[test]
fn brokers_get_in_at_the_expense_of_the_client_that_was_idle_the_longest() {
    let server = TestServer::start_with(
        |settings| {
            settings.limits.max_connections = 2;
            let mut internal = listener("INTERNAL");
            internal.is_inter_broker_listener = true;
            settings.listeners.push(internal);
        },
        echo,
    );
    let (mut first, mut second) = (server.connect(), server.connect());
    for is_first in [true, false, true] {
        let client = if is_first { &mut first } else { &mut second };
        client.send(b"x");
        assert_eq!(client.receive(), b"x");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut broker = server.connect_to(1);
    broker.send(b"b");
    assert_eq!(broker.receive(), b"b");
    assert!(second.is_closed());
    first.send(b"x");
    assert_eq!(first.receive(), b"x");
}

#[test]
fn no_requests_are_read_from_a_client_that_takes_no_answers() {
    let handled = Arc::new(AtomicUsize::new(0));
    let body = Bytes::from(vec![5; 400_000]);
    let server = TestServer::start_with(|settings| settings.connection.send_buffer_bytes = Some(64 * 1024), {
        let (handled, body) = (handled.clone(), body.clone());
        move |_, responder: Responder| {
            handled.fetch_add(1, Ordering::SeqCst);
            let length = Bytes::copy_from_slice(&(body.len() as u32).to_be_bytes());
            responder(Reply::Send(vec![Part::Memory(length), Part::Memory(body.clone())]));
        }
    });
    let mut client = server.connect();
    let requests = 120;
    for _ in 0..requests {
        client.send(b"more");
    }
    assert!(!client.hears_nothing());
    std::thread::sleep(Duration::from_millis(200));
    let unsent_max = 64 * body.len() + (1 << 20);
    // What the kernel holds for the client comes on top: tens of answers at most.
    assert!(handled.load(Ordering::SeqCst) * body.len() < 2 * unsent_max, "{}", handled.load(Ordering::SeqCst));
    assert!(handled.load(Ordering::SeqCst) < requests);
    for _ in 0..requests {
        assert_eq!(client.receive(), body);
    }
}

#[test]
fn a_port_in_use_is_told_with_its_listener() {
    let server = TestServer::start(echo);
    let mut taken = listener("EXTERNAL");
    taken.port = server.addresses[0].port();
    let error = BoundListeners::bind(&ServerSettings::new(vec![taken])).unwrap_err().to_string();
    let expected = format!(
        "listeners: listener EXTERNAL cannot use port {} of 127.0.0.1, because another process listens there; stop it or choose another port",
        server.addresses[0].port()
    );
    assert_eq!(error, expected);
}

#[test]
fn nobody_connects_before_the_server_is_ready() {
    let listeners = BoundListeners::bind(&ServerSettings::new(vec![listener("PLAINTEXT")])).unwrap();
    let (_, address) = listeners.addresses()[0];
    assert_ne!(address.port(), 0);
    let error = std::net::TcpStream::connect(address).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn an_unread_answer_does_not_keep_a_dead_client_alive() {
    let server = TestServer::start_with(
        |settings| settings.connection.max_idle = Some(Duration::from_millis(200)),
        |_, responder: Responder| {
            responder(answer(&vec![0; 50_000_000]));
        },
    );
    let mut client = server.connect();
    client.send(b"all of it");
    client.stream.read_exact(&mut [0; 4]).unwrap();
    eventually("it is given up", || server.service.disconnected.load(Ordering::SeqCst) == 1);
}
