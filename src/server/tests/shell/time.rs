//! What happens without requests.

use std::sync::atomic::Ordering;

use ottla_io::{Clock, SystemClock};
use ottla_server::Service;

use crate::support::{TestServer, TestService, eventually};

/// Sets a deadline as a request that begins to wait does.
fn wait_until(service: &TestService, deadline_ms: i64) {
    *service.deadline_ms.lock() = Some(deadline_ms);
    if let Some(waker) = service.waker.lock().as_ref() {
        waker();
    }
}

#[test]
fn a_tick_comes_when_the_next_deadline_does_and_not_before() {
    let server = TestServer::start(|_, _| {});
    let service = &server.service;
    eventually("the waker is there", || service.waker.lock().is_some());
    eventually("the first tick came", || !service.ticks.lock().is_empty());
    let start_ms = SystemClock.now_ms();
    wait_until(service, start_ms + 60_000);
    wait_until(service, start_ms + 100);
    eventually("the deadline is over", || service.next_deadline_ms().is_none());
    assert!(service.ticks.lock().last().is_some_and(|&tick_ms| tick_ms >= start_ms + 100));
    let count = service.ticks.lock().len();
    assert!(count <= 6, "nothing polls: {count} ticks");
}

#[test]
fn deadlines_that_come_after_the_planned_tick_wake_nobody() {
    let server = TestServer::start(|_, _| {});
    let service = &server.service;
    eventually("the waker is there", || service.waker.lock().is_some());
    let start_ms = SystemClock.now_ms();
    eventually("the first tick came", || !service.ticks.lock().is_empty());
    wait_until(service, start_ms + 30_000);
    eventually("it has planned the next one", || service.ticks.lock().len() >= 2);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let count = service.ticks.lock().len();
    for later_ms in 1..100 {
        wait_until(service, start_ms + 30_000 + later_ms);
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(service.ticks.lock().len(), count);
}

#[test]
fn background_work_is_done_when_it_is_due_and_ends_with_the_server() {
    let mut server = TestServer::start(|_, _| {});
    eventually("it was done three times", || server.service.background_runs.load(Ordering::SeqCst) >= 3);
    server.shut_down();
    assert_eq!(server.service.shut_down.load(Ordering::SeqCst), 1);
    let runs = server.service.background_runs.load(Ordering::SeqCst);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(server.service.background_runs.load(Ordering::SeqCst), runs);
}
