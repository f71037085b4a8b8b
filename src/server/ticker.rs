//! What happens without a request: deadlines on a task, and work that may wait for disks on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ottla_io::Clock;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::service::Service;

/// The longest sleep, so that a wall clock that is set back does not put off anything for longer.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// Calls [`Service::tick`] when the service's next deadline comes. Ends when it is dropped.
pub async fn tick(service: Arc<dyn Service>, clock: Arc<dyn Clock>) {
    let (changed, planned_ms) = (Arc::new(Notify::new()), Arc::new(AtomicI64::new(i64::MIN)));
    service.set_waker(Box::new({
        let (service, changed, planned_ms) = (Arc::downgrade(&service), changed.clone(), planned_ms.clone());
        move || {
            let deadline_ms = service.upgrade().and_then(|service| service.next_deadline_ms());
            // A sleep that ends before the new deadline needs no interruption: most deadlines never come, and each would cost a wake-up.
            if deadline_ms.is_some_and(|deadline_ms| deadline_ms < planned_ms.load(Ordering::SeqCst)) {
                changed.notify_one();
            }
        }
    }));
    loop {
        let now_ms = clock.now_ms();
        service.tick(now_ms);
        // Until the plan is made, every deadline is earlier than it.
        planned_ms.store(i64::MAX, Ordering::SeqCst);
        let wanted_ms = service.next_deadline_ms().map_or(i64::MAX, |deadline_ms| deadline_ms.saturating_sub(now_ms).max(0));
        let sleep = Duration::from_millis(wanted_ms as u64).min(SLEEP_MAX);
        planned_ms.store(now_ms + sleep.as_millis() as i64, Ordering::SeqCst);
        let _woken_early = tokio::time::timeout(sleep, changed.notified()).await.is_ok();
    }
}

#[derive(Debug, Default)]
struct Stop {
    requested: Mutex<bool>,
    changed: Condvar,
}

/// The thread of [`Service::run_background_work`].
#[derive(Debug)]
pub struct BackgroundThread {
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

impl BackgroundThread {
    /// Starts it.
    pub fn start(service: Arc<dyn Service>, clock: Arc<dyn Clock>) -> io::Result<BackgroundThread> {
        let stop = Arc::new(Stop::default());
        let thread = std::thread::Builder::new().name("ottla-background".to_owned()).spawn({
            let stop = stop.clone();
            move || work(&stop, service.as_ref(), clock.as_ref())
        })?;
        Ok(BackgroundThread { stop, thread })
    }

    /// Lets it finish what it is doing and waits for that.
    pub fn stop(self) {
        *self.stop.requested.lock() = true;
        self.stop.changed.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the thread of background work ended with a panic");
        }
    }
}

fn work(stop: &Stop, service: &dyn Service, clock: &dyn Clock) {
    loop {
        let next_ms = service.run_background_work(clock.now_ms());
        let pause_ms = next_ms.saturating_sub(clock.now_ms()).max(1);
        let mut requested = stop.requested.lock();
        if !*requested {
            stop.changed.wait_for(&mut requested, Duration::from_millis(pause_ms as u64).min(SLEEP_MAX));
        }
        if *requested {
            return;
        }
    }
}
