//! `--add-scram`: credentials for the beginning of the metadata log, so that the first clients can authenticate (`ScramParser`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use ottla_io::Rng;
use ottla_metadata::MetadataRecord;
use ottla_protocol::messages::user_scram_credential_record::UserScramCredentialRecord;
use sha2::{Digest, Sha256, Sha512};

const ITERATIONS_DEFAULT: u32 = 4096;
const ITERATIONS_MIN: u32 = 4096;
const ITERATIONS_MAX: u32 = 16384;
const SALT_LENGTH: usize = 26;

/// What is wrong with an argument. The texts are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// There is no mechanism.
    #[error("Failed to find equals sign in SCRAM argument '{0}'")]
    NoMechanism(String),
    /// The mechanism is none of the two.
    #[error("The add-scram mechanism {0} is not supported.")]
    UnknownMechanism(String),
    /// The components are not in brackets.
    #[error("Expected configuration string to start with [ and end with ]")]
    NoBrackets,
    /// A component is not `key=value`.
    #[error("No equals sign found in SCRAM component: {0}")]
    NoValue(String),
    /// A key that no credential has.
    #[error("Unknown SCRAM configurations: {0}")]
    UnknownComponent(String),
    /// A component is missing.
    #[error("You must supply {0} to add-scram")]
    Missing(&'static str),
    /// A value is not what it should be.
    #[error("Failed to {0}")]
    Malformed(String),
    /// Too few iterations are weak, too many slow.
    #[error("The 'iterations' value must be between {ITERATIONS_MIN} and {ITERATIONS_MAX}, but is {0}")]
    Iterations(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    Sha256,
    Sha512,
}

impl Mechanism {
    /// The number in the record (`ScramMechanism.type`).
    fn number(self) -> i8 {
        match self {
            Mechanism::Sha256 => 1,
            Mechanism::Sha512 => 2,
        }
    }

    fn salted_password(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        match self {
            Mechanism::Sha256 => pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password, salt, iterations).to_vec(),
            Mechanism::Sha512 => pbkdf2::pbkdf2_hmac_array::<Sha512, 64>(password, salt, iterations).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        const ANY_LENGTH: &str = "HMAC takes keys of any length";
        match self {
            Mechanism::Sha256 => Hmac::<Sha256>::new_from_slice(key).expect(ANY_LENGTH).chain_update(text).finalize().into_bytes().to_vec(),
            Mechanism::Sha512 => Hmac::<Sha512>::new_from_slice(key).expect(ANY_LENGTH).chain_update(text).finalize().into_bytes().to_vec(),
        }
    }

    fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Mechanism::Sha256 => Sha256::digest(bytes).to_vec(),
            Mechanism::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }
}

#[derive(Debug, Default)]
struct Components {
    name: Option<String>,
    salt: Option<Vec<u8>>,
    iterations: Option<u32>,
    password: Option<String>,
    salted_password: Option<Vec<u8>>,
}

/// The record for an argument such as `SCRAM-SHA-256=[name=alice,password=alice-secret]`; a salt that is not given is random.
pub fn credential(argument: &str, rng: &mut dyn Rng) -> Result<MetadataRecord, ScramError> {
    let (mechanism, rest) = mechanism(argument.trim())?;
    let components = components(rest)?;
    let name = components.name.ok_or(ScramError::Missing("'name'"))?;
    let iterations = components.iterations.unwrap_or(ITERATIONS_DEFAULT);
    if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
        return Err(ScramError::Iterations(iterations));
    }
    let (salt, salted_password) = match (components.password, components.salted_password, components.salt) {
        (Some(password), _, salt) => {
            let salt = salt.unwrap_or_else(|| random_salt(rng));
            let salted = mechanism.salted_password(password.as_bytes(), &salt, iterations);
            (salt, salted)
        }
        (None, Some(salted), Some(salt)) => (salt, salted),
        (None, Some(_), None) => return Err(ScramError::Missing("'salt' with 'saltedpassword'")),
        (None, None, _) => return Err(ScramError::Missing("one of 'password' or 'saltedpassword'")),
    };
    let client_key = mechanism.hmac(&salted_password, b"Client Key");
    Ok(MetadataRecord::UserScramCredential(UserScramCredentialRecord {
        name,
        mechanism: mechanism.number(),
        salt: Bytes::from(salt),
        stored_key: Bytes::from(mechanism.hash(&client_key)),
        server_key: Bytes::from(mechanism.hmac(&salted_password, b"Server Key")),
        iterations: iterations as i32,
        ..UserScramCredentialRecord::default()
    }))
}

fn random_salt(rng: &mut dyn Rng) -> Vec<u8> {
    let mut salt = vec![0; SALT_LENGTH];
    rng.fill(&mut salt);
    salt
}

fn mechanism(argument: &str) -> Result<(Mechanism, &str), ScramError> {
    let (name, rest) = argument.split_once('=').ok_or_else(|| ScramError::NoMechanism(argument.to_owned()))?;
    let mechanism = match name {
        "SCRAM-SHA-256" => Mechanism::Sha256,
        "SCRAM-SHA-512" => Mechanism::Sha512,
        other => return Err(ScramError::UnknownMechanism(other.to_owned())),
    };
    let components = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or(ScramError::NoBrackets)?;
    Ok((mechanism, components))
}

fn components(text: &str) -> Result<Components, ScramError> {
    let mut components = Components::default();
    for component in text.split(',') {
        let (key, value) = component.split_once('=').ok_or_else(|| ScramError::NoValue(component.to_owned()))?;
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        match key {
            "name" => components.name = Some(value.to_owned()),
            "password" => components.password = Some(value.to_owned()),
            "salt" => components.salt = Some(decode(value, "salt")?),
            "saltedpassword" => components.salted_password = Some(decode(value, "saltedPassword")?),
            "iterations" => {
                let malformed = |_| ScramError::Malformed(format!("parse iterations count: {value}"));
                components.iterations = Some(value.parse().map_err(malformed)?);
            }
            unknown => return Err(ScramError::UnknownComponent(unknown.to_owned())),
        }
    }
    Ok(components)
}

fn decode(value: &str, what: &str) -> Result<Vec<u8>, ScramError> {
    BASE64.decode(value).map_err(|_| ScramError::Malformed(format!("decode given {what}: {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::SeededRng;

    fn fails(argument: &str) -> String {
        credential(argument, &mut SeededRng::new(1)).expect_err("no credential").to_string()
    }

    /// The user of RFC 7677: what a server must store follows from password, salt and iterations.
    #[test]
    fn keys_are_those_of_the_rfc() {
        let argument = "SCRAM-SHA-256=[name=user,password=pencil,salt=W22ZaJ0SNY7soEsUEjb6gQ==,iterations=4096]";
        let Ok(MetadataRecord::UserScramCredential(record)) = credential(argument, &mut SeededRng::new(1)) else { panic!("a credential") };
        assert_eq!((record.name.as_str(), record.mechanism, record.iterations), ("user", 1, 4096));
        assert_eq!(BASE64.encode(&record.stored_key), "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=");
        assert_eq!(BASE64.encode(&record.server_key), "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
    }

    #[test]
    fn a_salted_password_needs_its_salt() {
        let argument = r#"SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]"#;
        let record = credential(argument, &mut SeededRng::new(1)).expect("a credential");
        assert!(matches!(record, MetadataRecord::UserScramCredential(record) if record.mechanism == 2 && &record.salt[..] == b"7q"));
        assert_eq!(
            fails(r#"SCRAM-SHA-512=[name=alice,saltedpassword="YCE="]"#),
            "You must supply 'salt' with 'saltedpassword' to add-scram"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(fails("SCRAM-SHA-256"), "Failed to find equals sign in SCRAM argument 'SCRAM-SHA-256'");
        assert_eq!(fails("SCRAM-SHA-1=[name=a]"), "The add-scram mechanism SCRAM-SHA-1 is not supported.");
        assert_eq!(fails("SCRAM-SHA-256=name=a"), "Expected configuration string to start with [ and end with ]");
        assert_eq!(fails("SCRAM-SHA-256=[name=a]"), "You must supply one of 'password' or 'saltedpassword' to add-scram");
        assert_eq!(fails("SCRAM-SHA-256=[password=a]"), "You must supply 'name' to add-scram");
        assert_eq!(fails("SCRAM-SHA-256=[name=a,password=b,x=c]"), "Unknown SCRAM configurations: x");
        assert_eq!(
            fails("SCRAM-SHA-256=[name=a,password=b,iterations=4095]"),
            "The 'iterations' value must be between 4096 and 16384, but is 4095"
        );
    }
}
