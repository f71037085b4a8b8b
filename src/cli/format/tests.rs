use ottla_io::{MemoryDisk, SeededRng, read_file, write_file};

use super::*;

const CLUSTER: &str = "4L6g3nShT-eMCtK--X86sw";

fn node() -> Node {
    Node {
        node_id: BrokerId(1),
        directories: BTreeSet::from([PathBuf::from("/d1"), PathBuf::from("/d2")]),
        metadata_directory: PathBuf::from("/d1"),
        is_controller: true,
        controller_listener: "CONTROLLER".to_owned(),
        controller_endpoint: Some(Endpoint { host: "127.0.0.1".to_owned(), port: 29093 }),
        has_static_voters: false,
    }
}

fn request() -> FormatRequest {
    FormatRequest { ignore_formatted: false, ..FormatRequest::standalone(CLUSTER.to_owned()) }
}

fn run(node: &Node, request: &FormatRequest, disk: &MemoryDisk) -> Result<Formatted, FormatError> {
    format(node, request, disk, &mut SeededRng::new(1), 1_796_125_388_296)
}

fn properties(disk: &MemoryDisk, directory: &str) -> MetaProperties {
    MetaProperties::read(disk, Path::new(directory)).expect("readable").expect("formatted")
}

#[test]
fn a_standalone_node_is_the_first_voter() {
    let disk = MemoryDisk::new();
    let formatted = run(&node(), &request(), &disk).expect("formatted");
    let expected = [(PathBuf::from("/d1"), DirectoryKind::DynamicMetadataVoter), (PathBuf::from("/d2"), DirectoryKind::Log)];
    assert_eq!(formatted.directories, expected);
    assert_eq!(formatted.metadata_version, MetadataVersion::LATEST);
    let (one, two) = (properties(&disk, "/d1"), properties(&disk, "/d2"));
    assert_eq!((one.version, one.cluster_id.as_deref(), one.node_id), (1, Some(CLUSTER), Some(BrokerId(1))));
    assert_ne!(one.directory_id, two.directory_id);

    let snapshot = read_file(&disk, Path::new("/d1/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"));
    let snapshot = snapshot.expect("readable").expect("the first snapshot");
    let directory_id = one.directory_id.expect("an id");
    let contains = |bytes: &[u8]| snapshot.windows(bytes.len()).any(|window| window == bytes);
    assert!(contains(directory_id.as_bytes()), "the voter is this very directory");
    assert!(contains(b"metadata.version"));
    assert_eq!(disk.metadata(Path::new("/d2/__cluster_metadata-0")).expect("readable"), None);
}

#[test]
fn formatting_twice_needs_to_be_asked_for() {
    let disk = MemoryDisk::new();
    run(&node(), &request(), &disk).expect("formatted");
    let error = run(&node(), &request(), &disk).expect_err("formatted already");
    let text = "Log directory /d1 is already formatted. Use --ignore-formatted to ignore this directory and format the others.";
    assert_eq!(error.to_string(), text);
    let again = FormatRequest { ignore_formatted: true, ..request() };
    assert_eq!(run(&node(), &again, &disk).expect("nothing to do").directories, []);
}

#[test]
fn directories_of_others_are_left_alone() {
    let disk = MemoryDisk::new();
    run(&node(), &request(), &disk).expect("formatted");
    let foreign = FormatRequest { cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".to_owned(), ..request() };
    let error = run(&node(), &foreign, &disk).expect_err("another cluster");
    let text = "Invalid cluster.id in: /d1/meta.properties. Expected AAAAAAAAAAAAAAAAAAAAAA, but read 4L6g3nShT-eMCtK--X86sw";
    assert_eq!(error.to_string(), text);
    let other = Node { node_id: BrokerId(2), ..node() };
    assert!(matches!(run(&other, &request(), &disk), Err(FormatError::OtherNode { found: BrokerId(1), .. })));
}

#[test]
fn a_metadata_log_without_its_properties_is_not_overwritten() {
    let disk = MemoryDisk::new();
    disk.create_dir_all(Path::new("/d1/__cluster_metadata-0")).expect("a directory");
    write_file(&disk, Path::new("/d1/__cluster_metadata-0/00000000000000000000.log"), b"records").expect("written");
    assert!(matches!(run(&node(), &request(), &disk), Err(FormatError::OrphanedMetadata(_))));
}

#[test]
fn controllers_are_listed_with_their_directories() {
    let disk = MemoryDisk::new();
    let directory_id = Uuid::from_u64_pair(7, 7);
    let controller = |id, directory_id| InitialController {
        node_id: BrokerId(id),
        directory_id,
        endpoint: Endpoint { host: format!("node{id}"), port: 9093 },
    };
    let listed = vec![controller(1, directory_id), controller(2, Uuid::from_u64_pair(7, 8))];
    let request = FormatRequest { controllers: InitialControllers::Listed(listed.clone()), ..request() };
    run(&node(), &request, &disk).expect("formatted");
    assert_eq!(properties(&disk, "/d1").directory_id, Some(directory_id));

    let disk = MemoryDisk::new();
    let later = Node { node_id: BrokerId(3), ..node() };
    let formatted = run(&later, &request, &disk).expect("formatted");
    assert_eq!(formatted.directories[0].1, DirectoryKind::DynamicMetadata);

    let with_static_voters = Node { has_static_voters: true, ..node() };
    assert!(matches!(run(&with_static_voters, &request, &MemoryDisk::new()), Err(FormatError::StaticVoters)));
}

#[test]
fn feature_levels_are_checked() {
    let level = |name: &str, level| FormatRequest { feature_levels: vec![(name.to_owned(), level)], ..request() };
    let fails = |request: &FormatRequest| run(&node(), request, &MemoryDisk::new()).expect_err("a wrong level").to_string();
    assert_eq!(
        fails(&level("no.such", 1)),
        "Unsupported feature: no.such. Supported features are: eligible.leader.replicas.version, group.version, kraft.version, \
         share.version, streams.version, transaction.version"
    );
    assert!(fails(&level(KRAFT_VERSION, 0)).starts_with("Cannot set kraft.version to 0 if controller.quorum.voters is empty"));
    let two = FormatRequest { release_version: Some(MetadataVersion::LATEST), ..level("metadata.version", 20) };
    assert_eq!(fails(&two), "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.");
    let old = FormatRequest { release_version: Some(MetadataVersion::MINIMUM), ..level("eligible.leader.replicas.version", 1) };
    assert_eq!(fails(&old), "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23");
    let formatted = run(&node(), &level("eligible.leader.replicas.version", 0), &MemoryDisk::new()).expect("formatted");
    assert_eq!(formatted.bootstrap.feature_level("eligible.leader.replicas.version"), 0);
}

#[test]
fn a_node_that_just_starts_formats_itself_once() {
    let disk = MemoryDisk::new();
    let mut rng = SeededRng::new(5);
    let formatted = format_if_empty(&node(), &disk, &mut rng, 1).expect("formatted").expect("it was empty");
    assert_eq!(formatted.directories.len(), 2);
    assert_eq!(format_if_empty(&node(), &disk, &mut rng, 2).expect("nothing to do"), None);
    let cluster_id = properties(&disk, "/d1").cluster_id;
    let mut larger = node();
    larger.directories.insert(PathBuf::from("/d3"));
    let formatted = format_if_empty(&larger, &disk, &mut rng, 3).expect("formatted").expect("one is new");
    assert_eq!(formatted.directories, [(PathBuf::from("/d3"), DirectoryKind::Log)]);
    assert_eq!(properties(&disk, "/d3").cluster_id, cluster_id);
}

#[test]
fn a_broker_cannot_invent_a_cluster() {
    let broker = Node { is_controller: false, controller_endpoint: None, ..node() };
    let error = format_if_empty(&broker, &MemoryDisk::new(), &mut SeededRng::new(1), 1).expect_err("no cluster id");
    assert!(matches!(error, FormatError::UnknownCluster(_)));
}
