//! Query parameters, and the filters of the lists.

/// Decoded parameters of a query or a form, in their order.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn of(query: Option<&str>) -> Self {
        Self::of_bytes(query.unwrap_or_default().as_bytes())
    }

    pub(crate) fn of_bytes(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The value of a parameter, whose name is compared without regard to case. An empty value is no value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Whether a row passes: each filter that it knows and that is set must name one of the row's values, in any case.
    /// What the row does not know is ignored, as Zerto does, so a misspelt filter gives every row.
    pub(crate) fn admits(&self, row: &[(&str, &[&str])]) -> bool {
        row.iter().all(|(name, values)| {
            self.get(name)
                .is_none_or(|wanted| values.iter().any(|value| value.eq_ignore_ascii_case(wanted)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn known_filters_compare_without_case_and_unknown_ones_are_ignored() {
        let row: &[(&str, &[&str])] = &[("vmName", &["App-07"]), ("status", &["1", "MeetingSLA"])];
        for query in [
            "",
            "vmname=APP-07",
            "vmName=app-07&status=meetingsla",
            "status=1",
            "vm_name=x",
            "vmName=",
        ] {
            assert!(Query::of(Some(query)).admits(row), "{query}");
        }
        for query in ["vmName=app", "vmName=app-07&status=2", "vmName=app-08"] {
            assert!(!Query::of(Some(query)).admits(row), "{query}");
        }
    }
}
