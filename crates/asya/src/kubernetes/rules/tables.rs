//! Rules that are tables: allowed values, ranges, forms of texts, exclusive fields.

use super::super::values::Format;

/// Type, field, and the values that it allows.
pub(super) const VALUES: &[(&str, &str, &[&str])] = &[
    (
        "AppArmorProfile",
        "type",
        &["Localhost", "RuntimeDefault", "Unconfined"],
    ),
    (
        "AzureDiskVolumeSource",
        "cachingMode",
        &["None", "ReadOnly", "ReadWrite"],
    ),
    (
        "AzureDiskVolumeSource",
        "kind",
        &["Dedicated", "Managed", "Shared"],
    ),
    (
        "Container",
        "imagePullPolicy",
        &["Always", "IfNotPresent", "Never"],
    ),
    (
        "Container",
        "restartPolicy",
        &["Always", "Never", "OnFailure"],
    ),
    (
        "Container",
        "terminationMessagePolicy",
        &["File", "FallbackToLogsOnError"],
    ),
    ("ContainerPort", "protocol", &["TCP", "UDP", "SCTP"]),
    ("ContainerResizePolicy", "resourceName", &["cpu", "memory"]),
    (
        "ContainerResizePolicy",
        "restartPolicy",
        &["NotRequired", "RestartContainer"],
    ),
    (
        "ContainerRestartRuleOnExitCodes",
        "operator",
        &["In", "NotIn"],
    ),
    ("DeploymentStrategy", "type", &["RollingUpdate", "Recreate"]),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    ("HPAScalingPolicy", "type", &["Pods", "Percent"]),
    (
        "HPAScalingRules",
        "selectPolicy",
        &["Max", "Min", "Disabled"],
    ),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "",
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ],
    ),
    (
        "ImageVolumeSource",
        "pullPolicy",
        &["Always", "IfNotPresent", "Never"],
    ),
    (
        "LabelSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist"],
    ),
    (
        "NodeSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    ),
    (
        "PersistentVolumeClaimSpec",
        "accessModes",
        &[
            "ReadWriteOnce",
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOncePod",
        ],
    ),
    (
        "PersistentVolumeClaimSpec",
        "volumeMode",
        &["Block", "Filesystem"],
    ),
    ("PodOS", "name", &["linux", "windows"]),
    (
        "PodSecurityContext",
        "fsGroupChangePolicy",
        &["OnRootMismatch", "Always"],
    ),
    (
        "PodSecurityContext",
        "seLinuxChangePolicy",
        &["Recursive", "MountOption"],
    ),
    (
        "PodSecurityContext",
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
    ),
    (
        "PodSpec",
        "dnsPolicy",
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ),
    (
        "PodSpec",
        "preemptionPolicy",
        &["PreemptLowerPriority", "Never"],
    ),
    // Deployments and StatefulSets restart their containers; other values are for Pods.
    ("PodSpec", "restartPolicy", &["Always"]),
    (
        "SeccompProfile",
        "type",
        &["Localhost", "RuntimeDefault", "Unconfined"],
    ),
    ("SecurityContext", "procMount", &["Default", "Unmasked"]),
    (
        "StatefulSetSpec",
        "podManagementPolicy",
        &["OrderedReady", "Parallel"],
    ),
    (
        "StatefulSetUpdateStrategy",
        "type",
        &["RollingUpdate", "OnDelete"],
    ),
    (
        "Toleration",
        "effect",
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
    ),
    ("Toleration", "operator", &["Exists", "Equal"]),
    (
        "TopologySpreadConstraint",
        "nodeAffinityPolicy",
        &["Honor", "Ignore"],
    ),
    (
        "TopologySpreadConstraint",
        "nodeTaintsPolicy",
        &["Honor", "Ignore"],
    ),
    (
        "TopologySpreadConstraint",
        "whenUnsatisfiable",
        &["DoNotSchedule", "ScheduleAnyway"],
    ),
    (
        "VolumeMount",
        "mountPropagation",
        &["None", "HostToContainer", "Bidirectional"],
    ),
    (
        "VolumeMount",
        "recursiveReadOnly",
        &["Disabled", "IfPossible", "Enabled"],
    ),
];

/// The largest user and group id, and the largest number of 32 bits.
const MAX_32: i64 = i32::MAX as i64;
/// The largest mode of a file, 0777.
const MODE_MAX: i64 = 0o777;

/// Type, field, and the least and largest number that it allows.
pub(super) const RANGES: &[(&str, &str, i64, i64)] = &[
    ("ConfigMapVolumeSource", "defaultMode", 0, MODE_MAX),
    ("ContainerPort", "containerPort", 1, 65_535),
    ("ContainerPort", "hostPort", 0, 65_535),
    ("DownwardAPIVolumeFile", "mode", 0, MODE_MAX),
    ("DownwardAPIVolumeSource", "defaultMode", 0, MODE_MAX),
    ("GRPCAction", "port", 1, 65_535),
    ("HTTPGetAction", "port", 1, 65_535),
    ("KeyToPath", "mode", 0, MODE_MAX),
    ("PodSecurityContext", "fsGroup", 0, MAX_32),
    ("PodSecurityContext", "runAsGroup", 0, MAX_32),
    ("PodSecurityContext", "runAsUser", 0, MAX_32),
    ("PodSecurityContext", "supplementalGroups", 0, MAX_32),
    ("PreferredSchedulingTerm", "weight", 1, 100),
    ("Probe", "failureThreshold", 0, MAX_32),
    ("Probe", "initialDelaySeconds", 0, MAX_32),
    ("Probe", "periodSeconds", 0, MAX_32),
    ("Probe", "successThreshold", 0, MAX_32),
    ("Probe", "terminationGracePeriodSeconds", 1, i64::MAX),
    ("Probe", "timeoutSeconds", 0, MAX_32),
    ("ProjectedVolumeSource", "defaultMode", 0, MODE_MAX),
    ("RollingUpdateStatefulSetStrategy", "partition", 0, MAX_32),
    ("SecretVolumeSource", "defaultMode", 0, MODE_MAX),
    ("SecurityContext", "runAsGroup", 0, MAX_32),
    ("SecurityContext", "runAsUser", 0, MAX_32),
    (
        "ServiceAccountTokenProjection",
        "expirationSeconds",
        600,
        1 << 32,
    ),
    ("SleepAction", "seconds", 0, i64::MAX),
    ("TCPSocketAction", "port", 1, 65_535),
    ("TopologySpreadConstraint", "maxSkew", 1, MAX_32),
    ("TopologySpreadConstraint", "minDomains", 1, MAX_32),
    ("WeightedPodAffinityTerm", "weight", 1, 100),
];

/// Type, field, and the form of its text, or of each text of its list.
pub(super) const FORMATS: &[(&str, &str, Format)] = &[
    ("ConfigMapEnvSource", "name", Format::Subdomain),
    ("ConfigMapKeySelector", "key", Format::ConfigKey),
    ("ConfigMapKeySelector", "name", Format::Subdomain),
    ("Container", "name", Format::Label),
    ("ContainerPort", "name", Format::PortName),
    ("DownwardAPIVolumeFile", "path", Format::RelativePath),
    ("EnvFromSource", "prefix", Format::Variable),
    ("EnvVar", "name", Format::Variable),
    ("HTTPGetAction", "port", Format::PortName),
    ("HTTPHeader", "name", Format::HttpHeader),
    ("HostAlias", "hostnames", Format::Subdomain),
    ("HostAlias", "ip", Format::Ip),
    ("KeyToPath", "path", Format::RelativePath),
    ("NFSVolumeSource", "path", Format::AbsolutePath),
    (
        "PersistentVolumeClaimSpec",
        "storageClassName",
        Format::Subdomain,
    ),
    ("PodAffinityTerm", "matchLabelKeys", Format::QualifiedName),
    (
        "PodAffinityTerm",
        "mismatchLabelKeys",
        Format::QualifiedName,
    ),
    ("PodAffinityTerm", "namespaces", Format::Label),
    ("PodAffinityTerm", "topologyKey", Format::QualifiedName),
    ("PodDNSConfig", "nameservers", Format::Ip),
    ("PodDNSConfig", "searches", Format::SearchDomain),
    ("PodReadinessGate", "conditionType", Format::QualifiedName),
    ("PodSchedulingGate", "name", Format::QualifiedName),
    ("PodSpec", "hostname", Format::Label),
    ("PodSpec", "nodeName", Format::Subdomain),
    ("PodSpec", "priorityClassName", Format::Subdomain),
    ("PodSpec", "runtimeClassName", Format::Subdomain),
    ("PodSpec", "serviceAccountName", Format::Subdomain),
    ("PodSpec", "subdomain", Format::Label),
    ("SecretEnvSource", "name", Format::Subdomain),
    ("SecretKeySelector", "key", Format::ConfigKey),
    ("SecretKeySelector", "name", Format::Subdomain),
    (
        "ServiceAccountTokenProjection",
        "path",
        Format::RelativePath,
    ),
    ("StatefulSetSpec", "serviceName", Format::Label),
    ("TCPSocketAction", "port", Format::PortName),
    ("Toleration", "key", Format::QualifiedName),
    (
        "TopologySpreadConstraint",
        "matchLabelKeys",
        Format::QualifiedName,
    ),
    ("Volume", "name", Format::Label),
    ("VolumeMount", "subPath", Format::RelativePath),
    ("VolumeMount", "subPathExpr", Format::RelativePath),
];

/// Type, fields of which at most one may be set, and whether one must be.
pub(super) const EXCLUSIVE: &[(&str, &[&str], bool)] = &[
    (
        "DownwardAPIVolumeFile",
        &["fieldRef", "resourceFieldRef"],
        true,
    ),
    ("EnvFromSource", &["configMapRef", "secretRef"], true),
    (
        "EnvVarSource",
        &[
            "configMapKeyRef",
            "fieldRef",
            "fileKeyRef",
            "resourceFieldRef",
            "secretKeyRef",
        ],
        true,
    ),
    (
        "LifecycleHandler",
        &["exec", "httpGet", "sleep", "tcpSocket"],
        true,
    ),
    ("Probe", &["exec", "grpc", "httpGet", "tcpSocket"], true),
    ("VolumeMount", &["subPath", "subPathExpr"], false),
    (
        "VolumeProjection",
        &[
            "clusterTrustBundle",
            "configMap",
            "downwardAPI",
            "podCertificate",
            "secret",
            "serviceAccountToken",
        ],
        false,
    ),
];

/// Type and field of a text or list that the API server refuses without content, beside the required
/// fields of the OpenAPI documents.
pub(super) const NOT_EMPTY: &[(&str, &str)] = &[
    ("ConfigMapEnvSource", "name"),
    ("ConfigMapKeySelector", "name"),
    ("ConfigMapProjection", "name"),
    ("ConfigMapVolumeSource", "name"),
    ("EphemeralVolumeSource", "volumeClaimTemplate"),
    ("ExecAction", "command"),
    ("NodeSelector", "nodeSelectorTerms"),
    ("PersistentVolumeClaimSpec", "accessModes"),
    ("SecretEnvSource", "name"),
    ("SecretKeySelector", "name"),
    ("SecretProjection", "name"),
    ("SecretVolumeSource", "secretName"),
];

/// Required fields of the OpenAPI documents that the API server sets itself or does not read.
pub(super) const NOT_REQUIRED: &[(&str, &str)] = &[
    ("ContainerResizePolicy", "restartPolicy"),
    ("HTTPHeader", "value"),
    ("PreferredSchedulingTerm", "preference"),
    ("Sysctl", "value"),
];
