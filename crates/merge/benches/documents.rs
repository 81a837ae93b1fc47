//! The merge alone: growth with the number of layers, and with the size of each.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use merge::Layer;
use serde_json::{Map, Value, json};

/// A layer in which `fields` leaves differ from those of every other layer, beside as many items of
/// a list that all of them append to.
fn layer(index: u64, fields: u64) -> Map<String, Value> {
    let own: Map<String, Value> = (0..fields)
        .map(|field| {
            (
                format!("field-{index}-{field}"),
                json!({"deep": {"leaf": field}}),
            )
        })
        .collect();
    let items: Vec<Value> = (0..fields)
        .map(|item| json!({"name": format!("ITEM_{index}_{item}"), "value": "text"}))
        .collect();
    Map::from_iter([
        ("map".to_owned(), Value::Object(own)),
        ("list".to_owned(), Value::Array(items)),
    ])
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("documents");
    for (layers, fields) in [(1, 20), (2, 20), (4, 20), (8, 20), (8, 40), (8, 80)] {
        let documents: Vec<_> = (0..layers).map(|index| layer(index, fields)).collect();
        let names: Vec<String> = (0..layers).map(|index| format!("layer-{index}")).collect();
        let layers_of: Vec<Layer<'_>> = names
            .iter()
            .zip(&documents)
            .map(|(name, document)| Layer { name, document })
            .collect();
        group.throughput(Throughput::Elements(2 * layers * fields));
        let id = BenchmarkId::new(
            format!("{layers} layers"),
            format!("{fields} fields and items"),
        );
        group.bench_function(id, |bencher| {
            bencher.iter(|| merge::documents(black_box(&layers_of), None, &[]));
        });
    }
    group.finish();
    criterion.final_summary();
}
