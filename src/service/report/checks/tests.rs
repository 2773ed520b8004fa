use super::*;

/// Returns a check with hostile names and texts.
fn hostile() -> Checked {
    let row = |path: &str, message: &str, line, level: Level| Row {
        code: "drift",
        level,
        fails: level == Level::Error,
        path: path.to_owned(),
        line,
        message: message.to_owned(),
        fingerprint: "same".to_owned(),
        properties: None,
    };
    let rows = vec![
        row("a\n::error::b,c:d%.md", "1 % ]]>\r\n::warning::x <b> & \"q\"", Some(3), Level::Error),
        row("\u{1b}[31m\u{0}\u{ffff}.md", "\u{1}\u{202e}\u{fffe}", None, Level::Warning),
        row("é.md", "</testsuite>", None, Level::Note),
    ];
    let rules = vec![Rule { code: "drift", meaning: "m", details: None }];
    let (properties, trouble) = (Value::Null, Vec::new());
    let name = "verify";
    Checked { name, fingerprints: "f/v1", rules, rows, omitted: 0, trouble, properties }
}

fn printed(name: &str) -> String {
    let place = Place::Repository("the%20docs/".to_owned());
    let format = Format::ALL.into_iter().find(|(known, _)| *known == name).unwrap().1;
    format.print(&[hostile()], &place)
}

#[test]
fn a_workflow_command_is_one_line_and_escapes_its_properties() {
    let lines = printed("github");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0],
        "::error file=the docs/a%0A%3A%3Aerror%3A%3Ab%2Cc%3Ad%25.md,line=3,title=drift::\
         1 %25 ]]>\\r\\n::warning::x <b> & \"q\""
    );
    assert_eq!(
        lines[1],
        "::warning file=the docs/\u{1b}[31m\u{0}\u{ffff}.md,title=drift::\\u{1}\\u{202e}\u{fffe}"
    );
    assert_eq!(lines[2], "::notice file=the docs/é.md,title=drift::</testsuite>");
}

#[test]
fn issues_of_code_quality_have_the_required_keys_and_distinct_fingerprints() {
    let issues: Value = serde_json::from_str(&printed("gitlab")).unwrap();
    let issues = issues.as_array().unwrap();
    for issue in issues {
        for key in ["/description", "/check_name", "/fingerprint", "/severity", "/location/path"] {
            assert!(issue.pointer(key).is_some_and(Value::is_string), "{key}: {issue}");
        }
        assert!(issue.pointer("/location/lines/begin").is_some_and(Value::is_u64), "{issue}");
    }
    let mut same: Vec<&Value> = issues.iter().map(|issue| &issue["fingerprint"]).collect();
    same.dedup();
    assert_eq!(same.len(), 3);
    assert_eq!(issues[0]["location"]["path"], "the docs/a\n::error::b,c:d%.md");
    let severities: Vec<&Value> = issues.iter().map(|issue| &issue["severity"]).collect();
    assert_eq!(severities, ["critical", "minor", "info"]);
}

#[test]
fn junit_has_no_character_that_xml_cannot_contain() {
    let xml = printed("junit");
    assert!(
        !xml.chars().any(|c| c != '\n' && (c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')))
    );
    let cases: Vec<&str> = xml.lines().filter(|line| line.contains("<testcase")).collect();
    assert_eq!(
        cases[0],
        "    <testcase classname=\"ctx.verify\" name=\"drift: the docs/a\\n::error::b,c:d%.md:3\" \
         file=\"the docs/a\\n::error::b,c:d%.md\" line=\"3\">"
    );
    let told: Vec<&str> =
        xml.lines().filter(|line| line.contains("<failure") || line.contains("<system")).collect();
    assert_eq!(
        told,
        [
            "      <failure type=\"drift\" message=\"1 % ]]&gt;\\r\\n::warning::x &lt;b&gt; &amp; \
             &quot;q&quot;\"/>",
            "      <system-out>warning: \\u{1}\\u{202e}\\u{fffe}</system-out>",
            "      <system-out>note: &lt;/testsuite&gt;</system-out>",
        ]
    );
    assert!(xml.contains("tests=\"3\" failures=\"1\""), "{xml}");
}
