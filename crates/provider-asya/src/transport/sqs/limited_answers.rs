//! Limits answers of SQS and STS, which the SDK reads without one: the endpoint of a config can be any
//! server.

use aws_sdk_sqs::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_sqs::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sqs::error::BoxError;
use aws_smithy_types::body::SdkBody;
use http_body_util::Limited;

/// Largest answer, in bytes. The attributes and tags of a queue have about 4 KiB, and at most 50 tags of
/// 384 characters each. A map of tiny entries takes about ten times its bytes once it is parsed.
const ANSWER_MAX: usize = 256 << 10;

/// Ends a call whose answer is too long.
#[derive(Debug)]
pub struct LimitedAnswers;

impl Intercept for LimitedAnswers {
    fn name(&self) -> &'static str {
        "LimitedAnswers"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let body = Limited::new(response.take_body(), ANSWER_MAX);
        *response.body_mut() = SdkBody::from_body_1_x(body);
        Ok(())
    }
}
