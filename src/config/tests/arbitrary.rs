//! Whatever stands in a configuration file, the answer is a configuration or a sentence.

use ottla_config::{ConfigFile, ConfigSources, FileFormat, Scope, keys, load};
use proptest::prelude::*;

fn check(format: FileFormat, text: &str) {
    let file = ConfigFile { name: "file", format, text };
    if let Err(error) = load(&ConfigSources { file: Some(file), ..ConfigSources::default() }) {
        assert!(!error.to_string().is_empty());
    }
}

fn any_key() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(keys(Scope::Broker).keys().copied().collect::<Vec<_>>())
}

fn any_value() -> impl Strategy<Value = String> {
    let listeners = "[A-Z:/,@.0-9\\\\[\\\\]]{0,40}";
    prop_oneof![any::<i64>().prop_map(|number| number.to_string()), listeners.prop_map(Into::into), "\\\\PC{0,20}".prop_map(Into::into)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn text_of_any_kind(text in "(?s).{0,300}") {
        check(FileFormat::Properties, &text);
        check(FileFormat::Toml, &text);
    }

    #[test]
    fn keys_with_values_of_any_kind(pairs in proptest::collection::vec((any_key(), any_value()), 1..4)) {
        let properties: String = pairs.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        check(FileFormat::Properties, &properties);
        let toml: String = pairs.iter().map(|(key, value)| format!("\"{key}\" = {value:?}\n")).collect();
        check(FileFormat::Toml, &toml);
    }

    #[test]
    fn a_value_that_a_key_accepts_is_accepted_again_as_it_is_shown(key in any_key(), value in any_value()) {
        let key = &keys(Scope::Broker)[key];
        if let Ok(parsed) = key.parse(&value)
            && key.kind != ottla_config::ConfigType::Password
        {
            prop_assert_eq!(key.parse(&parsed.to_string()), Ok(parsed));
        }
    }
}
