//! `run` of every step alone, on their requests for an actor, without a server and an encoding.

use std::hint::black_box;

use bench::actors::Size;
use bench::requests::{ONE_STEP, Requests, STEPS};
use criterion::{BatchSize, Criterion};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for size in Size::ALL {
        let recorded = Requests::of(size).unwrap_or_else(|error| unreachable!("{error}"));
        let requests = recorded.steps.iter().chain([&recorded.one_step]);
        let mut group = criterion.benchmark_group(size.name());
        for ((name, step), request) in STEPS.iter().chain([&ONE_STEP]).zip(requests) {
            group.bench_function(*name, |bencher| {
                bencher.iter_batched(
                    || request.clone(),
                    |request| step(black_box(request)),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
