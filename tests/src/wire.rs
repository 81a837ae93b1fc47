//! HTTP/2 by hand, to send what no client would.

/// The preface of every HTTP/2 client.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A whole connection with one call of `RunFunction`, whose message announces `length`
/// bytes and has those of `body`.
pub fn call(length: u32, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0]; // not compressed
    message.extend(length.to_be_bytes());
    message.extend(body);
    let frames = [
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &headers()),
        frame(DATA, END_STREAM, 1, &message),
    ];
    [PREFACE, &frames.concat()].concat()
}

/// The headers of the call, by RFC 7541: three from the static table, the others written out.
fn headers() -> Vec<u8> {
    const POST: u8 = 0x83;
    const HTTP: u8 = 0x86;
    const PATH: &[u8] = &[0x04];
    const AUTHORITY: &[u8] = &[0x01];
    const CONTENT_TYPE: &[u8] = &[0x0f, 0x10];
    const NEW: &[u8] = &[0x00];
    let path = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
    [
        &[POST, HTTP],
        PATH,
        &text(path),
        AUTHORITY,
        &text("localhost"),
        CONTENT_TYPE,
        &text("application/grpc"),
        NEW,
        &text("te"),
        &text("trailers"),
    ]
    .concat()
}

/// A text without Huffman's code; all of ours are shorter than 127 bytes.
fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("a short text");
    [&[length], text.as_bytes()].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame");
    let head = [
        &length.to_be_bytes()[1..],
        &[kind, flags],
        &stream.to_be_bytes(),
    ];
    [&head.concat(), payload].concat()
}
