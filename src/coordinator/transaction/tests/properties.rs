//! Whatever is asked in whatever order: the log alone gives the state again, and what was promised to a producer holds.

use proptest::prelude::*;

use super::harness::{Harness, rebuilt};
use crate::group::TransactionResult::{Abort, Commit};

#[derive(Clone, Debug)]
enum Step {
    Init,
    InitAgain,
    Add(i32),
    End(bool),
    WriteMarkers,
    Tick(i64),
    Restart,
    FailNextWrite,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Init),
        1 => Just(Step::InitAgain),
        6 => (0..3).prop_map(Step::Add),
        4 => any::<bool>().prop_map(Step::End),
        6 => Just(Step::WriteMarkers),
        1 => prop_oneof![Just(100), Just(80_000), Just(8 * 24 * 60 * 60 * 1000)].prop_map(Step::Tick),
        1 => Just(Step::Restart),
        1 => Just(Step::FailNextWrite),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn the_log_gives_the_state_again(steps in steps(), transaction_version in 0i16..=2) {
        let mut harness = Harness::new(transaction_version);
        let mut known = (-1, -1);
        for step in steps {
            let answer = match step {
                Step::Init => Some(harness.init(None)),
                Step::InitAgain => Some(harness.init((known.0 >= 0).then_some(known))),
                Step::Add(index) => Some(harness.add(known, &[index])),
                Step::End(is_commit) => Some(harness.end(known, if is_commit { Commit } else { Abort })),
                Step::WriteMarkers => { harness.write_markers(); None }
                Step::Tick(ms) => { harness.tick_after(ms); None }
                Step::Restart => { harness.restart(); None }
                Step::FailNextWrite => { harness.failing = Some(ottla_model::ErrorCode::NotEnoughReplicas); None }
            };
            if let Some(Ok(told)) = answer && told.0 >= 0 {
                prop_assert!(told.0 > known.0 || told.1 >= known.1, "{told:?} after {known:?}");
                known = told;
            }
        }
        // All that is under way comes to its end.
        harness.failing = None;
        for _ in 0..3 {
            harness.write_markers();
            harness.tick_after(100);
        }
        harness.write_markers();
        let log = rebuilt(&harness.log);
        let (live, again) = (harness.shard.describe("tx"), log.describe("tx"));
        prop_assert!(!live.transaction_state.starts_with("Prepare"), "{live:?}");
        if live.producer_epoch >= 0 && harness.shard.len() == log.len() {
            prop_assert_eq!((&live.transaction_state, live.producer_id, &live.topics), (&again.transaction_state, again.producer_id, &again.topics));
            // A fence that could not be written has raised the epoch in memory alone.
            prop_assert!(again.producer_epoch == live.producer_epoch || again.producer_epoch + 1 == live.producer_epoch);
        } else {
            prop_assert!(live.producer_epoch <= 0);
        }
    }
}
