//! gRPC as a protocol of requests: an operation is a path, a refusal is a status.

use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::codegen::http::{HeaderMap, Request, Response};

use super::Protocol;
use crate::access::{AccessError, Operation};
use crate::people::StreamEnd;
use crate::rpc::status;

/// gRPC.
#[derive(Debug)]
pub enum Grpc {}

impl Protocol for Grpc {
    fn operation(request: &Request<Body>) -> Option<&'static Operation> {
        Operation::find(request.uri().path())
    }

    fn refused(_: &Request<Body>, error: AccessError) -> Response<Body> {
        status::access(error).into_http()
    }

    fn broken_off() -> Response<Body> {
        status::broken_off().into_http()
    }

    fn ended(end: StreamEnd) -> Result<Frame<Bytes>, Status> {
        let mut trailers = HeaderMap::new();
        status::ended(end).add_header(&mut trailers)?;
        Ok(Frame::trailers(trailers))
    }
}
