//! What the metadata log keeps for security: access control entries, SCRAM credentials and delegation tokens. They are kept as their
//! records; who interprets them is elsewhere.

use std::collections::BTreeMap;

use ottla_model::Uuid;
use ottla_protocol::messages::access_control_entry_record::AccessControlEntryRecord;
use ottla_protocol::messages::delegation_token_record::DelegationTokenRecord;
use ottla_protocol::messages::remove_user_scram_credential_record::RemoveUserScramCredentialRecord;
use ottla_protocol::messages::user_scram_credential_record::UserScramCredentialRecord;

use super::{Change, ReplayError};
use crate::metadata_version::MetadataVersion;
use crate::record::MetadataRecord;

/// A user's credential for one mechanism.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScramCredentialKey {
    /// Kafka's number of the mechanism: SCRAM-SHA-256 1, SCRAM-SHA-512 2.
    pub mechanism: i8,
    /// The user's name.
    pub user: String,
}

/// The security state (`AclsImage`, `ScramImage`, `DelegationTokenImage`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecurityImage {
    /// Access control entries by id.
    pub acls: BTreeMap<Uuid, AccessControlEntryRecord>,
    /// SCRAM credentials.
    pub scram_credentials: BTreeMap<ScramCredentialKey, UserScramCredentialRecord>,
    /// Delegation tokens by id.
    pub delegation_tokens: BTreeMap<String, DelegationTokenRecord>,
}

impl SecurityImage {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.acls.is_empty() && self.scram_credentials.is_empty() && self.delegation_tokens.is_empty()
    }

    pub(super) fn add_acl(&mut self, record: &AccessControlEntryRecord) -> Change {
        self.acls.insert(record.id, record.clone());
        Change::Security
    }

    pub(super) fn remove_acl(&mut self, id: Uuid) -> Result<Change, ReplayError> {
        self.acls.remove(&id).ok_or(ReplayError::UnknownAcl(id))?;
        Ok(Change::Security)
    }

    pub(super) fn put_credential(&mut self, record: &UserScramCredentialRecord) -> Change {
        let key = ScramCredentialKey { mechanism: record.mechanism, user: record.name.clone() };
        self.scram_credentials.insert(key, record.clone());
        Change::Security
    }

    pub(super) fn remove_credential(&mut self, record: &RemoveUserScramCredentialRecord) -> Change {
        let key = ScramCredentialKey { mechanism: record.mechanism, user: record.name.clone() };
        self.scram_credentials.remove(&key);
        Change::Security
    }

    pub(super) fn put_token(&mut self, record: &DelegationTokenRecord) -> Change {
        self.delegation_tokens.insert(record.token_id.clone(), record.clone());
        Change::Security
    }

    pub(super) fn remove_token(&mut self, token_id: &str) -> Change {
        self.delegation_tokens.remove(token_id);
        Change::Security
    }

    pub(super) fn write(&self, metadata_version: MetadataVersion, records: &mut Vec<MetadataRecord>) {
        records.extend(self.acls.values().cloned().map(MetadataRecord::from));
        if metadata_version.is_scram_supported() {
            records.extend(self.scram_credentials.values().cloned().map(MetadataRecord::from));
        }
        if metadata_version.is_delegation_token_supported() {
            records.extend(self.delegation_tokens.values().cloned().map(MetadataRecord::from));
        }
    }
}
