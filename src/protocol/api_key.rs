//! The APIs and their versions, as the schema has them. Which of them a listener serves is the broker's table.

/// What the schema says of one API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiSpec {
    /// The API.
    pub key: ApiKey,
    /// The first version.
    pub lowest_version: i16,
    /// The last version, an unstable one included.
    pub highest_version: i16,
    /// The first version with compact lengths and tagged fields; `i16::MAX` where there is none.
    pub first_flexible_version: i16,
    /// Whether Kafka advertises the last version only when told to.
    pub latest_version_unstable: bool,
    /// Whether Kafka serves it on broker listeners.
    pub on_broker: bool,
    /// Whether Kafka serves it on controller listeners.
    pub on_controller: bool,
}

macro_rules! api_keys {
    ($($name:ident = $key:literal versions $lowest:literal $highest:literal flexible $flexible:literal unstable $unstable:literal
       broker $broker:literal controller $controller:literal;)*) => {
        /// The number of an API on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i16)]
        pub enum ApiKey {
            $(#[doc = concat!("`", stringify!($name), "` (", stringify!($key), ")")] $name = $key,)*
        }

        impl ApiKey {
            /// Every API of Kafka 4.4, by number.
            pub const ALL: &'static [ApiKey] = &[$(ApiKey::$name,)*];

            /// The API with this number.
            pub const fn from_code(code: i16) -> Option<ApiKey> {
                match code { $($key => Some(ApiKey::$name),)* _ => None }
            }

            /// Kafka's name.
            pub const fn name(self) -> &'static str {
                match self { $(ApiKey::$name => stringify!($name),)* }
            }

            /// What the schema says of it.
            pub const fn spec(self) -> ApiSpec {
                match self {
                    $(ApiKey::$name => ApiSpec {
                        key: self,
                        lowest_version: $lowest,
                        highest_version: $highest,
                        first_flexible_version: $flexible,
                        latest_version_unstable: $unstable,
                        on_broker: $broker,
                        on_controller: $controller,
                    },)*
                }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/api_key.rs"));

impl ApiKey {
    /// The number on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// Whether this version has compact lengths and tagged fields.
    pub const fn is_flexible(self, version: i16) -> bool {
        version >= self.spec().first_flexible_version
    }

    /// The version of the request header that goes with this version of the request.
    pub const fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the response header. A client that asks for the versions does not know any yet, so that answer keeps the
    /// oldest header.
    pub const fn response_header_version(self, version: i16) -> i16 {
        if matches!(self, ApiKey::ApiVersions) || !self.is_flexible(version) { 0 } else { 1 }
    }
}

impl std::fmt::Display for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ApiKey;

    #[test]
    fn the_table_is_kafkas() {
        let fetch = ApiKey::Fetch.spec();
        assert_eq!((fetch.lowest_version, fetch.highest_version, fetch.first_flexible_version), (4, 18, 12));
        assert!(fetch.on_broker && fetch.on_controller);
        assert!(ApiKey::InitProducerId.spec().latest_version_unstable);
        assert_eq!(ApiKey::from_code(4), None);
        assert_eq!(ApiKey::ALL.len(), 91);
    }

    #[test]
    fn header_versions() {
        assert_eq!(ApiKey::ApiVersions.response_header_version(4), 0);
        assert_eq!(ApiKey::ApiVersions.request_header_version(4), 2);
        assert_eq!(ApiKey::SaslHandshake.request_header_version(1), 1);
        assert_eq!(ApiKey::Produce.response_header_version(9), 1);
        assert_eq!(ApiKey::Produce.response_header_version(8), 0);
    }
}
