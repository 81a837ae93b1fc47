//! Paths, and the interpretation of answers.

use super::*;

fn api() -> Api {
    let login = Login {
        endpoint: "http://broker:15672/",
        username: "guest",
        password: "s3cret",
        authorities: None,
    };
    Api::new(&login, Duration::from_secs(1)).unwrap()
}

#[test]
fn names_are_percent_encoded() {
    let cases: [(&[&str], &str); 4] = [
        (&["queues", "/", "asya-cart"], "/queues/%2F/asya-cart"),
        (&["queues", "v/x", "a b"], "/queues/v%2Fx/a%20b"),
        (&["queues", "%2F", "ä?#"], "/queues/%252F/%C3%A4%3F%23"),
        (&["policies", "v.x_y~z", "q"], "/policies/v.x_y~z/q"),
    ];
    for (path, expected) in cases {
        assert_eq!(encoded(path), expected);
    }
}

#[test]
fn only_the_api_itself_answers_not_found() {
    let read = |status: u16, body: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        api().interpret(
            &Method::GET,
            status,
            body.as_bytes(),
            "read queue".to_owned(),
            Fields::Read,
        )
    };
    let own = r#"{"error":"Object Not Found","reason":"Not Found"}"#;
    assert_eq!(read(404, own), Ok(Answer::NotFound));
    assert_eq!(read(201, ""), Ok(Answer::Created));
    assert_eq!(read(204, ""), Ok(Answer::Ok(Value::Null)));
    let cases = [
        (
            404,
            "<html>no route</html>",
            "http://broker:15672 failed to read queue: HTTP status 404",
        ),
        (
            404,
            r#"{"error":"not_found"}"#,
            "http://broker:15672 failed to read queue: not_found (HTTP status 404)",
        ),
        (
            404,
            "{}",
            "http://broker:15672 failed to read queue: HTTP status 404",
        ),
        (
            200,
            "<html>login</html>",
            "http://broker:15672 failed to read queue: the answer is not JSON: is this the management API?",
        ),
        (
            401,
            r#"{"error":"not_authorized","reason":"Login failed"}"#,
            "http://broker:15672 denies read queue: Login failed (HTTP status 401)",
        ),
        (
            400,
            r#"{"error":"bad_request","reason":"inequivalent\n arg"}"#,
            "http://broker:15672 refuses to read queue: inequivalent arg (HTTP status 400)",
        ),
        (
            503,
            "",
            "http://broker:15672 failed to read queue: HTTP status 503",
        ),
        (
            429,
            "",
            "http://broker:15672 throttles calls to read queue: it is retried",
        ),
    ];
    for (status, body, expected) in cases {
        assert_eq!(
            read(status, body).unwrap_err().to_string(),
            expected,
            "{status} {body}"
        );
    }
}
