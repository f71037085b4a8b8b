//! The bytes of request frames that may be in memory at once, over all connections. Whoever wants to read a frame takes its size first
//! and gives it back when the request is answered; those who wait are served in the order they came.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget.
#[derive(Clone, Debug)]
pub struct FrameBudget {
    available: Arc<Semaphore>,
    total_bytes: u32,
}

/// A frame's share; dropping it gives the bytes back.
#[derive(Debug)]
pub struct FramePermit {
    _permit: OwnedSemaphorePermit,
}

/// A wait for a share.
pub type PermitWait = Pin<Box<dyn Future<Output = FramePermit> + Send>>;

impl FrameBudget {
    /// A budget of so many bytes, at most 2 GiB.
    pub fn new(total_bytes: usize) -> FrameBudget {
        let total_bytes = u32::try_from(total_bytes).unwrap_or(u32::MAX).clamp(1, i32::MAX as u32);
        FrameBudget { available: Arc::new(Semaphore::new(total_bytes as usize)), total_bytes }
    }

    /// A share, if there is one and nobody waits.
    pub fn try_take(&self, frame_bytes: usize) -> Option<FramePermit> {
        let permit = self.available.clone().try_acquire_many_owned(self.share(frame_bytes)).ok()?;
        Some(FramePermit { _permit: permit })
    }

    /// Waits for a share.
    pub fn take(&self, frame_bytes: usize) -> PermitWait {
        let wait = self.available.clone().acquire_many_owned(self.share(frame_bytes));
        Box::pin(async move { FramePermit { _permit: wait.await.expect("the semaphore is never closed") } })
    }

    /// A frame larger than the whole budget takes all of it, so that it gets through, alone.
    fn share(&self, frame_bytes: usize) -> u32 {
        u32::try_from(frame_bytes).unwrap_or(u32::MAX).min(self.total_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_frame_larger_than_the_budget_waits_until_it_is_alone() {
        let budget = FrameBudget::new(100);
        let small = budget.try_take(1).unwrap();
        assert!(budget.try_take(1000).is_none());
        let waiting = tokio::spawn(budget.take(1000));
        tokio::task::yield_now().await;
        assert!(budget.try_take(1).is_none(), "who comes later does not overtake who waits");
        drop(small);
        let large = waiting.await.unwrap();
        assert!(budget.try_take(1).is_none());
        drop(large);
        assert!(budget.try_take(100).is_some());
    }
}
