//! The server: this program's functions for another version of it.

use std::io::{self, Read, Write};

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use prost::Message as _;

use super::{Greeting, read_frame, write_frame};
use pipeline::{Functions, Object};

/// Writes the greeting, then answers calls until the input ends.
///
/// # Errors
/// When the other program cannot be read from or written to.
pub fn serve(
    functions: &Functions,
    compositions: [Object; 2],
    input: &mut impl Read,
    output: &mut impl Write,
) -> io::Result<()> {
    let greeting = Greeting {
        asya: env!("CARGO_PKG_VERSION").to_owned(),
        functions: functions.names().map(str::to_owned).collect(),
        compositions: compositions.map(|composition| composition.as_map().clone()),
    };
    serde_json::to_writer(&mut *output, &greeting)?;
    output.write_all(b"\n")?;
    output.flush()?;
    while let Some(name) = read_frame(input)? {
        let request = read_frame(input)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let answer = answer(functions, &String::from_utf8_lossy(&name), &request);
        write_frame(output, &answer.encode_to_vec())?;
        output.flush()?;
    }
    Ok(())
}

/// The response of the function; a fatal one if the function or the request is invalid.
fn answer(functions: &Functions, name: &str, request: &[u8]) -> RunFunctionResponse {
    let refused = |message: String| function_kit::fatal(&message);
    match RunFunctionRequest::decode(request) {
        Ok(request) => functions
            .run(name, request)
            .unwrap_or_else(|| refused(format!("there is no function {name:?}"))),
        Err(error) => refused(format!("cannot read the request: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(parts: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in parts {
            write_frame(&mut bytes, part).unwrap();
        }
        bytes
    }

    fn served(input: &[u8]) -> (io::Result<()>, Vec<u8>) {
        let functions = Functions::none().with("echo", |request| RunFunctionResponse {
            context: request.context,
            ..RunFunctionResponse::default()
        });
        let compositions = [Object::default(), Object::default()];
        let mut output = Vec::new();
        let ended = serve(&functions, compositions, &mut &*input, &mut output);
        (ended, output)
    }

    #[test]
    fn an_invalid_call_gets_a_fatal_response_and_keeps_the_connection() {
        let request = RunFunctionRequest::default().encode_to_vec();
        let cases: [(&[u8], &[u8], &str, &str); 3] = [
            (b"echo", &request, "", "a known function"),
            (
                b"other",
                &request,
                "there is no function \"other\"",
                "an unknown one",
            ),
            (
                b"echo",
                b"\xff",
                "cannot read the request",
                "an invalid request",
            ),
        ];
        let input: Vec<u8> = cases
            .iter()
            .flat_map(|(name, request, ..)| frames(&[name, request]))
            .collect();
        let (ended, output) = served(&input);
        ended.unwrap();
        let end = output.iter().position(|byte| *byte == b'\n').unwrap();
        let greeting: Greeting = serde_json::from_slice(&output[..end]).unwrap();
        assert_eq!(greeting.functions, ["echo"]);
        let mut answers = &output[end + 1..];
        for (_, _, message, reason) in cases {
            let frame = read_frame(&mut answers).unwrap().unwrap();
            let answer = RunFunctionResponse::decode(frame.as_slice()).unwrap();
            let first = answer.results.first().map(|result| result.message.as_str());
            assert!(first.unwrap_or_default().starts_with(message), "{reason}");
            assert_eq!(first.is_none(), message.is_empty(), "{reason}");
        }
        assert_eq!(read_frame(&mut answers).unwrap(), None);
    }

    #[test]
    fn a_truncated_call_is_an_error() {
        let whole = frames(&[b"echo", b""]);
        for length in 1..whole.len() {
            let (ended, _) = served(&whole[..length]);
            let kind = ended.unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::UnexpectedEof, "{length}");
        }
        assert!(served(&whole).0.is_ok());
        assert!(served(b"").0.is_ok());
    }
}
