//! Keeps many requests in a row below what the backend takes from one person in a second.

use std::time::Duration;

use orion_domain::ErrorCode;
use tokio::time::{Instant, sleep, sleep_until};

use crate::failure::Failure;

/// The time between two requests: below the backend's default limit, so that other calls of the person fit in too.
const INTERVAL: Duration = Duration::from_millis(25);
/// The pause after a request that was one too many: the backend counts by the second.
const PAUSE: Duration = Duration::from_secs(1);
/// How often one request is sent at most.
const MAX_TRIES: u32 = 10;

/// The pace of requests that follow each other.
#[derive(Debug)]
pub(super) struct Pace {
    next: Instant,
}

impl Pace {
    /// Returns a pace whose first request is due now.
    pub(super) fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// Sends a request when it is due, and again later if the backend says that it was one too many.
    ///
    /// # Errors
    /// The request fails otherwise, or is one too many again and again.
    pub(super) async fn send<T>(
        &mut self,
        mut request: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 1;
        loop {
            sleep_until(self.next).await;
            self.next = Instant::now() + INTERVAL;
            match request().await {
                Err(failure)
                    if failure.tool_code() == Some(ErrorCode::RateLimited) && tries < MAX_TRIES =>
                {
                    tries += 1;
                    sleep(PAUSE).await;
                }
                answered => return answered,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::ToolError;

    fn one_too_many() -> Failure {
        ToolError::new(ErrorCode::RateLimited, "ann makes more than 50 calls a second.").into()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_keep_their_distance() {
        let (mut pace, begin) = (Pace::new(), Instant::now());
        for _ in 0..41 {
            pace.send(async || Ok(())).await.unwrap();
        }
        assert_eq!(begin.elapsed().as_millis(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_one_too_many_is_sent_again_until_it_is_answered() {
        let (mut pace, mut sent) = (Pace::new(), 0);
        let answer = pace
            .send(async || {
                sent += 1;
                if sent < 3 { Err(one_too_many()) } else { Ok(sent) }
            })
            .await;
        assert_eq!(answer.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_backend_that_takes_none_and_any_other_failure_end_it() {
        let (mut pace, mut sent) = (Pace::new(), 0);
        let refused = pace
            .send(async || {
                sent += 1;
                Err::<(), _>(one_too_many())
            })
            .await;
        assert_eq!(refused.unwrap_err().tool_code(), Some(ErrorCode::RateLimited));
        assert_eq!(sent, MAX_TRIES);
        let mut sent = 0;
        let failed = pace
            .send(async || {
                sent += 1;
                Err::<(), _>(Failure::NotFound("there is no such device".to_owned()))
            })
            .await;
        assert_eq!((failed.unwrap_err().exit_code(), sent), (3, 1));
    }
}
