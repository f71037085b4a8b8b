//! Joins the parts of an answer that come from several coordinators, in whatever order they come.

use std::sync::Arc;

use parking_lot::Mutex;

type Finish<T> = Box<dyn FnOnce(Vec<T>) + Send>;

struct State<T> {
    parts: Vec<Option<T>>,
    missing: usize,
    finish: Option<Finish<T>>,
}

/// A place for each part.
pub struct Gather<T>(Arc<Mutex<State<T>>>);

impl<T> Clone for Gather<T> {
    fn clone(&self) -> Gather<T> {
        Gather(self.0.clone())
    }
}

impl<T: Send + 'static> Gather<T> {
    /// Waits for `count` parts and then calls `finish` with them, in the order of their places; at once if there are none.
    pub fn new(count: usize, finish: impl FnOnce(Vec<T>) + Send + 'static) -> Gather<T> {
        if count == 0 {
            finish(Vec::new());
            return Gather(Arc::new(Mutex::new(State { parts: Vec::new(), missing: 0, finish: None })));
        }
        let parts = (0..count).map(|_| None).collect();
        Gather(Arc::new(Mutex::new(State { parts, missing: count, finish: Some(Box::new(finish)) })))
    }

    /// Puts a part in its place.
    pub fn put(&self, place: usize, part: T) {
        let mut state = self.0.lock();
        if state.parts[place].replace(part).is_none() {
            state.missing -= 1;
        }
        if state.missing > 0 {
            return;
        }
        let Some(finish) = state.finish.take() else { return };
        let parts = std::mem::take(&mut state.parts);
        drop(state);
        finish(parts.into_iter().flatten().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn parts_come_out_in_the_order_of_their_places() {
        let (sender, receiver) = mpsc::channel();
        let gather = Gather::new(2, move |parts| sender.send(parts).unwrap());
        gather.put(1, "b");
        assert!(receiver.try_recv().is_err());
        gather.put(0, "a");
        assert_eq!(receiver.try_recv(), Ok(vec!["a", "b"]));
    }

    #[test]
    fn nothing_to_wait_for_finishes_at_once() {
        let (sender, receiver) = mpsc::channel();
        Gather::<u8>::new(0, move |parts| sender.send(parts).unwrap());
        assert_eq!(receiver.try_recv(), Ok(vec![]));
    }
}
