//! stub
#[derive(Debug)]
pub struct Uri;
impl std::str::FromStr for Uri {
    type Err = String;
    fn from_str(t: &str) -> Result<Self, String> {
        if t.starts_with("contextnest://") {
            Ok(Uri)
        } else {
            Err("expected `contextnest://`".into())
        }
    }
}
