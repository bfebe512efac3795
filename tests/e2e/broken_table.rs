//! The form of the tables of broken installations, and what `doctor` has to do with each row.

use serde_json::json;

use crate::installation::{HEALTHY, Installed};

/// One broken installation: what is done to it, the check that finds it, how bad that is, and words in the finding.
pub(crate) struct Case {
    scenario: &'static str,
    broken: fn(&mut Installed),
    check: &'static str,
    severity: &'static str,
    words: &'static str,
}

pub(crate) const fn case(
    broken: fn(&mut Installed),
    check: &'static str,
    severity: &'static str,
    words: &'static str,
) -> Case {
    Case {
        scenario: HEALTHY,
        broken,
        check,
        severity,
        words,
    }
}

pub(crate) const fn of_zvm(
    scenario: &'static str,
    check: &'static str,
    severity: &'static str,
    words: &'static str,
) -> Case {
    Case {
        scenario,
        broken: |_| {},
        check,
        severity,
        words,
    }
}

pub(crate) fn examine(cases: &[Case]) {
    for case in cases {
        let mut installed = Installed::with(case.scenario);
        (case.broken)(&mut installed);
        if !installed.settings_path().exists() {
            installed.write_settings();
        }
        let report = installed.doctor(&[]);
        let at = format!("{} ({})", case.check, case.words);
        let Some(finding) = report.trouble(case.check, case.words) else {
            panic!("{at} was not found: {:#}", report.value)
        };
        assert_eq!(finding["severity"], case.severity, "{at}: {finding:#}");
        assert!(
            finding["matters"].as_str().unwrap().len() > 10,
            "{at}: {finding:#}"
        );
        assert!(finding["mend"].is_string(), "{at} names no remedy: {finding:#}");
        let worst = if report.troubles().is_empty() {
            0
        } else if report.value["worst"] == "broken" {
            5
        } else {
            4
        };
        assert_eq!(report.code, worst, "{at}");
        if finding["fix"].is_string() {
            let mended = installed.doctor(&["--fix"]);
            assert_eq!(mended.value["not_mended"], json!([]), "{at}");
            assert!(
                mended.trouble(case.check, case.words).is_none(),
                "{at}: {:#}",
                mended.value
            );
            assert!(
                installed.doctor(&[]).trouble(case.check, case.words).is_none(),
                "{at}"
            );
        }
    }
}
