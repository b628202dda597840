//! How long one decision takes, beside other policy engines with an equal policy, in one run.
//!
//! All engines get the same questions, and the run fails unless all give the same answers. Rounds
//! alternate between the engines; told are the median, the spread and the ratio to Orion's.

mod casbin;
mod cedar;
mod orion;
mod rego;
mod world;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

/// Something that decides.
pub(crate) trait Engine {
    /// As it is shown.
    fn name(&self) -> &'static str;
    /// Whether the question at this position is allowed.
    fn allows(&mut self, index: usize) -> Result<bool>;
}

const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(orion::Orion::new()?),
        Box::new(cedar::Cedar::new()?),
        Box::new(rego::Rego::new()?),
        Box::new(casbin::Casbin::new().await?),
    ];
    let count = world::questions().len();
    let mut answers: Vec<Vec<bool>> = Vec::new();
    for engine in &mut engines {
        answers.push((0..count).map(|index| engine.allows(index)).collect::<Result<_>>()?);
    }
    let ours = answers.first().cloned().unwrap_or_default();
    for (engine, theirs) in engines.iter().zip(&answers) {
        let other = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
        ensure!(other.is_none(), "{} answers question {other:?} otherwise", engine.name());
    }
    let allowed = ours.iter().filter(|&&it| it).count();
    println!("{count} questions, {allowed} allowed; every engine gives the same answers.\n");

    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); engines.len()];
    let mut slowest_of_one = Vec::new();
    for round in 0..=ROUNDS {
        for (engine, times) in engines.iter_mut().zip(&mut rounds) {
            let nanoseconds = round_of(engine.as_mut(), count)?;
            // The first round warms up.
            if round > 0 {
                times.push(nanoseconds);
            }
        }
        slowest_of_one.extend(one_by_one(engines[0].as_mut(), count)?);
    }
    let medians: Vec<f64> = rounds.iter_mut().map(|times| percentile(times, 50)).collect();
    let mut rows = Vec::new();
    println!("{:<22} {:>12} {:>20} {:>10}", "engine", "ns (median)", "spread", "ratio");
    for ((engine, times), median) in engines.iter().zip(&mut rounds).zip(&medians) {
        let (low, high) = (percentile(times, 0), percentile(times, 100));
        let ratio = median / medians[0];
        let spread = format!("{low:.0}-{high:.0}");
        println!("{:<22} {median:>12.0} {spread:>20} {ratio:>10.1}", engine.name());
        rows.push(json!({"engine": engine.name(), "ns": median, "low": low, "high": high,
            "ratio": ratio}));
    }
    let (p50, p99) = (percentile(&mut slowest_of_one, 50), percentile(&mut slowest_of_one, 99));
    println!("\norion, one by one, clock included: p50 {p50:.0} ns, p99 {p99:.0} ns");
    if let Some(path) = std::env::args().nth(1) {
        let report = json!({"decisions": rows, "orion_p50_ns": p50, "orion_p99_ns": p99});
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

/// Nanoseconds for one question, over all questions again and again for the length of a round.
fn round_of(engine: &mut dyn Engine, count: usize) -> Result<f64> {
    let start = Instant::now();
    let mut asked = 0_u32;
    while start.elapsed() < ROUND {
        for index in 0..count {
            std::hint::black_box(engine.allows(index)?);
            asked += 1;
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(asked))
}

/// Nanoseconds of each question by itself.
fn one_by_one(engine: &mut dyn Engine, count: usize) -> Result<Vec<f64>> {
    (0..count)
        .map(|index| {
            let start = Instant::now();
            std::hint::black_box(engine.allows(index)?);
            Ok(start.elapsed().as_secs_f64() * 1e9)
        })
        .collect()
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    times.get((last * percent).div_ceil(100)).copied().unwrap_or(f64::NAN)
}
