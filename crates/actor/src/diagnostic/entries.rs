// The table of codes, included by `code.rs`. Ascending; an id that was released keeps its meaning.
codes! {
    ActorUnnamed "ASYA101" {
        title: "The actor has no name",
        cause: "The composite resource has neither a name nor the label of a claim.",
        example: "metadata: {}",
        fix: "Give the object a metadata.name.",
    }
    ActorWithoutNamespace "ASYA102" {
        title: "The actor has no namespace",
        cause: "The composite resource is cluster-scoped and was not created through a claim.",
        example: "metadata: {name: embedding} # of a cluster-scoped XR without a claim",
        fix: "Create it as a namespaced AsyncActor, or through a claim.",
    }
    InvalidActorName "ASYA103" {
        title: "The actor's name cannot be used",
        cause: "spec.actor, or the object's name where spec.actor is not set, is not a DNS label, which the names of workload and queue are made of.",
        example: "metadata: {name: my.actor}",
        fix: "Set spec.actor to a name of at most 63 lower-case letters, digits and '-'.",
    }
    StatefulSetNameTooLong "ASYA104" {
        title: "The actor's name is too long for a StatefulSet",
        cause: "A StatefulSet's pods carry its name and a revision in one label of at most 63 characters.",
        example: "spec: {actor: a-name-of-more-than-fifty-two-characters-which-is-too-long, workload: {kind: StatefulSet}}",
        fix: "Give the actor a name of at most 52 characters, or use kind Deployment.",
    }
    InvalidValue "ASYA110" {
        title: "A field has a value that it cannot have",
        cause: "The value has another type than the field, or is outside of what the field allows.",
        example: "spec: {scaling: {minReplicaCount: \"1\"}}",
        fix: "Write the value as the message says; docs/reference has every field with its type.",
    }
    UnknownField "ASYA111" {
        title: "A field is not known",
        cause: "The API has no field of that name, so nothing reads it; most often it is misspelt.",
        example: "spec: {handlr: app.handle}",
        fix: "Correct the name, or remove the field.",
    }
    FieldSetTwice "ASYA112" {
        title: "One document sets a field under two names",
        cause: "scaling.minReplicas and scaling.minReplicaCount are the same field, and so are maxReplicas and maxReplicaCount.",
        example: "spec: {scaling: {minReplicas: 1, minReplicaCount: 2}}",
        fix: "Keep one of the two names.",
    }
    ReplicasWhileScaling "ASYA113" {
        title: "replicas has no effect while scaling is on",
        cause: "KEDA sets the number of pods, from scaling.minReplicaCount to scaling.maxReplicaCount.",
        example: "spec: {replicas: 3}",
        fix: "Set scaling.minReplicaCount, or scaling.enabled: false.",
    }
    NothingToRun "ASYA120" {
        title: "Nothing says what the actor runs",
        cause: "Neither the actor nor a flavor sets image and handler, workload, or workloadRef.",
        example: "spec: {scaling: {maxReplicaCount: 5}}",
        fix: "Set image and handler, here or in a flavor; or workload; or workloadRef.",
    }
    WorkloadAndReference "ASYA121" {
        title: "Both workload and workloadRef are set",
        cause: "workload describes pods of the actor's own, workloadRef names those of somebody else; an actor has one of the two.",
        example: "spec: {workload: {}, workloadRef: {}}",
        fix: "Remove one of the two.",
    }
    FieldBesideWorkload "ASYA122" {
        title: "An inline pod field stands beside workload or workloadRef",
        cause: "The actor describes its pod in a template, or binds to another workload, and sets a field of the inline form as well.",
        example: "spec: {workload: {template: {}}, env: [{name: A, value: b}]}",
        fix: "Move the field into workload.template, or with workloadRef into runtime.",
    }
    BindingWithoutTarget "ASYA123" {
        title: "binding or runtime without workloadRef",
        cause: "Both fields describe how to bind to the workload that workloadRef names, and there is none.",
        example: "spec: {image: app:1, handler: app.handle, runtime: {image: adapter:1}}",
        fix: "Set workloadRef, or remove the field.",
    }
    ImageMissing "ASYA124" {
        title: "No image for the runtime container",
        cause: "Neither the actor, nor a flavor, nor for an adapter the platform names an image.",
        example: "spec: {handler: app.handle}",
        fix: "Set image in the actor or a flavor; with a template in its container asya-runtime; with workloadRef in runtime.image.",
    }
    HandlerMissing "ASYA125" {
        title: "No handler",
        cause: "Nobody names the function that works on messages.",
        example: "spec: {image: app:1}",
        fix: "Set handler in the actor or a flavor; with workloadRef in runtime.handler.",
    }
    InvalidFlavorList "ASYA201" {
        title: "spec.flavors is not a list of names",
        cause: "The field, or one of its items, has another type.",
        example: "spec: {flavors: gpu}",
        fix: "Write a list of texts.",
    }
    TooManyFlavors "ASYA202" {
        title: "An actor names too many flavors",
        cause: "An actor can combine at most 8 flavors.",
        example: "spec: {flavors: [f-1, f-2, f-3, f-4, f-5, f-6, f-7, f-8, f-9]}",
        fix: "Combine some of the flavors into one.",
    }
    InvalidFlavorName "ASYA203" {
        title: "A flavor's name is not valid",
        cause: "A flavor is named like its EnvironmentConfig, and must have at least 3 characters.",
        example: "spec: {flavors: [gp]}",
        fix: "Write the name of an EnvironmentConfig.",
    }
    FlavorListedTwice "ASYA204" {
        title: "A flavor is listed twice",
        cause: "The same name stands in spec.flavors more than once.",
        example: "spec: {flavors: [gpu, gpu]}",
        fix: "Name each flavor once.",
    }
    PlatformAsFlavor "ASYA205" {
        title: "The platform's settings are listed as a flavor",
        cause: "The EnvironmentConfig with the platform's settings is no flavor.",
        example: "spec: {flavors: [asya-platform]}",
        fix: "Remove it from spec.flavors.",
    }
    FlavorMissing "ASYA210" {
        title: "A flavor does not exist",
        cause: "There is no EnvironmentConfig of that name, or it lacks the label that the platform's settings ask for.",
        example: "spec: {flavors: [gpu-standard]} # and no EnvironmentConfig gpu-standard",
        fix: "Create or label the EnvironmentConfig; the actor goes on by itself.",
    }
    FlavorLabel "ASYA211" {
        title: "A flavor's label differs from its name",
        cause: "People find flavors by the label asya.sh/flavor, while actors use the object's name.",
        example: "metadata: {name: gpu, labels: {asya.sh/flavor: gpu-standard}}",
        fix: "Set the label to the name of the EnvironmentConfig.",
    }
    InvalidFlavorData "ASYA220" {
        title: "A flavor's data is not a map",
        cause: "The data of a flavor's EnvironmentConfig must be a map of fields of an actor's spec.",
        example: "data: [image]",
        fix: "Write data as a map.",
    }
    QueueOptionInFlavor "ASYA221" {
        title: "A flavor sets an option of the queue that only an actor can set",
        cause: "Taking over a queue, or deleting its messages, is each actor's own decision; a flavor may give queue.deadLetter only.",
        example: "data: {queue: {adopt: true}}",
        fix: "Set the option in the actor.",
    }
    KeyIgnoredInFlavor "ASYA222" {
        title: "A flavor sets a field that is ignored in flavors",
        cause: "Identity, transport and list of flavors are an actor's own, and Crossplane's fields are Crossplane's.",
        example: "data: {actor: embedding}",
        fix: "Remove the field from the flavor; set it in the actor.",
    }
    FlavorKeysReplaced "ASYA223" {
        title: "Keys of a flavor have no effect: the actor replaces the whole field",
        cause: "A top-level field that the actor writes replaces that of its flavors, with all the keys and items in it.",
        example: "spec: {flavors: [gpu], scaling: {maxReplicaCount: 2}} # gpu sets scaling.cooldownPeriod",
        fix: "Repeat the keys in the actor if it needs them.",
    }
    FlavorConflict "ASYA230" {
        title: "Two flavors set the same field",
        cause: "No flavor wins over another, so a leaf that two of an actor's flavors set is a contradiction, even where the values are equal.",
        example: "data: {scaling: {maxReplicaCount: 4}} # in two flavors of one actor",
        fix: "Keep the field in one of the flavors, or set its top-level field in the actor, which wins over both.",
    }
    FlavorTypeMismatch "ASYA231" {
        title: "Two flavors give a field of different types",
        cause: "Maps are merged and lists appended, but a list and a map cannot be joined.",
        example: "data: {tolerations: gpu} # and another flavor with a list",
        fix: "Give the field the type that the API has for it, in both flavors.",
    }
    PlatformMissing "ASYA301" {
        title: "There are no platform settings",
        cause: "Neither an EnvironmentConfig nor the step's input holds the platform's settings.",
        example: "# no EnvironmentConfig asya-platform",
        fix: "Create EnvironmentConfig asya-platform with an entry under data.transports.",
    }
    InvalidPlatform "ASYA302" {
        title: "The platform's settings cannot be read",
        cause: "A setting has another type than it must have, or the template for queue names has no {actor}.",
        example: "data: {queueNameTemplate: \"asya-{namespace}\"}",
        fix: "Correct the setting that the message names.",
    }
    SeveralPlatforms "ASYA303" {
        title: "Several EnvironmentConfigs hold the platform's settings",
        cause: "The Composition's requirement 'platform' selects more than one object.",
        example: "requirements: {requiredResources: [{requirementName: platform, matchLabels: {team: ml}}]}",
        fix: "Select one EnvironmentConfig by name.",
    }
    UnknownRuntimeVersion "ASYA304" {
        title: "The version of the runtime script does not exist",
        cause: "runtime.version of the platform's settings is none of the versions that the function holds.",
        example: "data: {runtime: {version: 0.0.7}}",
        fix: "Name one of the versions that the message lists, or leave the setting out.",
    }
    UnknownTransport "ASYA311" {
        title: "The transport does not exist",
        cause: "The platform's settings have no transport of the name that the actor gives.",
        example: "spec: {transport: kafka}",
        fix: "Name one of the platform's transports, or add it to the settings.",
    }
    TransportDisabled "ASYA312" {
        title: "The transport is disabled",
        cause: "The platform's settings have enabled: false for it.",
        example: "data: {transports: {sqs: {type: sqs, enabled: false}}}",
        fix: "Enable it, or name another in spec.transport.",
    }
    TransportMisconfigured "ASYA313" {
        title: "A transport is misconfigured",
        cause: "Its entry in the platform's settings lacks something, or has a value that cannot be used.",
        example: "data: {transports: {sqs: {type: sqs, config: {}}}}",
        fix: "Correct what the message names.",
    }
    NoTransport "ASYA314" {
        title: "No transport is enabled",
        cause: "The platform's settings have no transport that is not disabled.",
        example: "data: {transports: {}}",
        fix: "Add a transport with type sqs or rabbitmq.",
    }
    NoDefaultTransport "ASYA315" {
        title: "Several transports are enabled and none is the default",
        cause: "The actor names no transport, and the platform's settings no defaultTransport.",
        example: "data: {transports: {sqs: {type: sqs}, mq: {type: rabbitmq}}}",
        fix: "Set defaultTransport in the platform's settings, or spec.transport in the actor.",
    }
    InvalidQueueName "ASYA320" {
        title: "The queue cannot have its name",
        cause: "The name that follows from actor and queueNameTemplate is too long for the transport, or holds a character that it does not allow.",
        example: "data: {queueNameTemplate: \"asya.{actor}\"} # on SQS",
        fix: "Give the actor a shorter name, or change the setting that the message names.",
    }
    QueueWouldMove "ASYA321" {
        title: "A live queue would have to move to another transport",
        cause: "The queue may hold messages, so it is never moved.",
        example: "spec: {transport: rabbitmq} # of an actor whose queue is on sqs",
        fix: "Restore the transport; to move, drain the queue, delete the actor and create it again.",
    }
    TransportTypeChanged "ASYA322" {
        title: "A transport of the platform has become another type",
        cause: "An actor's live queue is of the type that the transport had before.",
        example: "data: {transports: {main: {type: rabbitmq}}} # was of type sqs",
        fix: "Restore the entry and add the new one under another name.",
    }
    LiveQueueWithoutTransport "ASYA323" {
        title: "No enabled transport fits the live queue",
        cause: "The queue does not name its transport, and the settings enable none, or several, of its type.",
        example: "data: {transports: {mq: {type: rabbitmq}}} # of an actor with a queue on SQS",
        fix: "Enable the transport again, or name one in spec.transport.",
    }
    LiveQueueKeepsSettings "ASYA324" {
        title: "A live queue keeps what the settings no longer say",
        cause: "Name and place of a queue never change, because it may hold messages; changed settings apply to new actors.",
        example: "data: {transports: {sqs: {config: {region: eu-west-1}}}} # was us-east-1",
        fix: "Nothing, if that is meant; to move, drain the queue, delete the actor and create it again.",
    }
    RetentionKept "ASYA325" {
        title: "A live queue keeps messages longer than a new one would",
        cause: "The retention is not lowered, because messages could be lost.",
        example: "spec: {forProvider: {sqs: {messageRetentionSeconds: 1209600}}} # of the Queue",
        fix: "Nothing; or lower it on the Queue when it is empty.",
    }
    NoDeadLettering "ASYA326" {
        title: "Messages are not dead-lettered",
        cause: "Dead-lettering is on, but classic queues of RabbitMQ have no delivery limit.",
        example: "data: {transports: {mq: {type: rabbitmq, config: {queueType: classic}}}}",
        fix: "Disable deadLetter, or set queueType quorum for new actors.",
    }
    NameMissing "ASYA401" {
        title: "An item of a list has no name",
        cause: "Kubernetes tells the items of this list apart by the key that the message names.",
        example: "spec: {workload: {template: {spec: {volumes: [{emptyDir: {}}]}}}}",
        fix: "Give the item the key.",
    }
    RuntimeContainer "ASYA402" {
        title: "The pod does not have exactly one container asya-runtime",
        cause: "The container of that name runs the handler; a template must have one of it.",
        example: "spec: {workload: {template: {spec: {containers: [{name: main, image: app:1}]}}}}",
        fix: "Call the container with the handler asya-runtime.",
    }
    ReservedContainer "ASYA403" {
        title: "A container has a reserved name",
        cause: "asya-runtime, asya-sidecar and names that begin with asya-state-proxy- are Asya's own.",
        example: "spec: {initContainers: [{name: asya-sidecar, image: app:1}]}",
        fix: "Give the container another name.",
    }
    CommandSet "ASYA404" {
        title: "The runtime container has a command",
        cause: "The container starts the runtime script, which calls the handler; a command would start something else.",
        example: "spec: {command: [\"python\"]}",
        fix: "Use pythonExecutable and args.",
    }
    DuplicateName "ASYA410" {
        title: "A name is given more than once",
        cause: "Lists of flavors and of the actor are appended, and two of the items have the same name or mount path.",
        example: "data: {env: [{name: MODE, value: a}]} # in two flavors of one actor",
        fix: "Keep one of the items; the message names the origin of each.",
    }
    ReservedVariable "ASYA420" {
        title: "An environment variable is set by Asya itself",
        cause: "The variable says who the actor is or how its parts are wired.",
        example: "spec: {env: [{name: ASYA_QUEUE_URL, value: x}]}",
        fix: "Remove it; the message names the field to use instead, where there is one.",
    }
    InvalidStateProxy "ASYA430" {
        title: "A state proxy cannot be rendered",
        cause: "Its name does not fit into a container's name, its connector has no image, or its mount path is not absolute.",
        example: "spec: {stateProxy: [{name: a_b, mount: {path: /a}, connector: {image: c:1}}]}",
        fix: "Correct what the message names.",
    }
    InvalidQuantity "ASYA440" {
        title: "A value is no quantity",
        cause: "Resources are numbers with a suffix of Kubernetes.",
        example: "spec: {resources: {limits: {cpu: lots}}}",
        fix: "Write a quantity such as 500m, 2 or 8Gi.",
    }
    NoRequests "ASYA441" {
        title: "The runtime container requests no cpu or memory",
        cause: "Without a request the scheduler places the pod as if it needed none, and nothing can scale it by that resource.",
        example: "spec: {image: app:1, handler: app.handle}",
        fix: "Set resources.requests, in the actor or a flavor.",
    }
    FieldNeedsStatefulSet "ASYA450" {
        title: "A field of StatefulSets on a Deployment",
        cause: "volumeClaimTemplates and serviceName exist only on a StatefulSet.",
        example: "spec: {workload: {kind: Deployment, serviceName: a}}",
        fix: "Set workload.kind to StatefulSet, or remove the field.",
    }
    ServiceAccountRole "ASYA460" {
        title: "A ServiceAccount that Asya does not render must carry the IAM role",
        cause: "The transport names a role for the pods, and they run under a ServiceAccount of somebody else's choice.",
        example: "spec: {serviceAccountName: mine}",
        fix: "Annotate that ServiceAccount with the role, or give the transport a credentialsSecretRef.",
    }
    TimeoutFromElsewhere "ASYA501" {
        title: "The runtime timeout is taken from a Secret or a field",
        cause: "Limits of queue and pod follow from ASYA_RUNTIME_TIMEOUT, and its value cannot be read here.",
        example: "spec: {env: [{name: ASYA_RUNTIME_TIMEOUT, valueFrom: {}}]}",
        fix: "Write the variable as a literal value, or use resiliency.actorTimeout.",
    }
    InvalidTimeout "ASYA502" {
        title: "The runtime timeout cannot be used",
        cause: "The value is no duration, or it is zero.",
        example: "spec: {resiliency: {actorTimeout: \"90\"}}",
        fix: "Write a duration such as 90s or 5m.",
    }
    GracePeriodTooShort "ASYA510" {
        title: "Work can be killed when its pod ends",
        cause: "The pod's grace period is below the runtime timeout.",
        example: "spec: {resiliency: {actorTimeout: 5m}, terminationGracePeriodSeconds: 30}",
        fix: "Raise the grace period or the platform's maxGracePeriodSeconds, or lower the timeout.",
    }
    VisibilityTooShort "ASYA511" {
        title: "Messages in work can be delivered twice",
        cause: "SQS hides a received message for less time than the handler may take.",
        example: "spec: {resiliency: {actorTimeout: 1h}, sidecar: {env: [{name: ASYA_SQS_VISIBILITY_TIMEOUT, value: \"60\"}]}}",
        fix: "Raise the visibility timeout, leave it out to have it derived, or lower the timeout.",
    }
    LongWorkOverAmqp "ASYA512" {
        title: "Pods can be scaled in while they work",
        cause: "KEDA counts over AMQP, which leaves out messages in work, and the runtime timeout is longer than the cooldownPeriod.",
        example: "spec: {resiliency: {actorTimeout: 1h}, scaling: {cooldownPeriod: 60}} # on RabbitMQ without managementHost",
        fix: "Set managementHost of the transport, or a longer cooldownPeriod.",
    }
    InvalidRetry "ASYA520" {
        title: "A retry setting cannot be used",
        cause: "The kind of backoff is unknown, an interval is no duration above 0, the coefficient is below 1, or a rule names no policy.",
        example: "spec: {resiliency: {retry: {policy: linear}}}",
        fix: "Correct what the message names: backoff constant, linear (policies only) or exponential, durations such as 10s, rules with the name of a policy.",
    }
    ScalingOutOfRange "ASYA601" {
        title: "A number of spec.scaling is out of range",
        cause: "KEDA refuses the number, or two numbers contradict each other, such as a minimum above the maximum.",
        example: "spec: {scaling: {minReplicaCount: 9, maxReplicaCount: 1}}",
        fix: "Change the number as the message says; it names where each comes from.",
    }
    InvalidFallback "ASYA610" {
        title: "scaling.fallback cannot be used",
        cause: "KEDA refuses the fallback: a number is missing or wrong, or it stands beside metricType Value.",
        example: "spec: {scaling: {fallback: {replicas: 2}}}",
        fix: "Set failureThreshold and replicas, and correct what the message names.",
    }
    InvalidFormula "ASYA620" {
        title: "scaling.advanced cannot be used",
        cause: "KEDA refuses the formula or what goes with it: no target, an unknown trigger, a field that needs a formula.",
        example: "spec: {scaling: {advanced: {formula: \"queue * 2\"}}}",
        fix: "Correct what the message names.",
    }
    InvalidTrigger "ASYA630" {
        title: "An additional trigger cannot be used",
        cause: "KEDA refuses the trigger: something is missing, its name is taken, or what it measures is not there.",
        example: "spec: {scaling: {additionalTriggers: [{metadata: {}}]}}",
        fix: "Correct what the message names.",
    }
    ClusterTriggerAuthentication "ASYA631" {
        title: "A trigger uses a ClusterTriggerAuthentication that the platform does not allow",
        cause: "A ClusterTriggerAuthentication holds credentials of the whole cluster; an author of actors may use only those that the platform lists.",
        example: "spec: {scaling: {additionalTriggers: [{type: redis, metadata: {}, authenticationRef: {kind: ClusterTriggerAuthentication, name: shared}}]}}",
        fix: "Use a TriggerAuthentication of the namespace, or have the platform list the name in allowedClusterTriggerAuthentications.",
    }
    InvalidPause "ASYA640" {
        title: "The annotation that pauses KEDA holds no number",
        cause: "autoscaling.keda.sh/paused-replicas must be a number of replicas.",
        example: "metadata: {annotations: {autoscaling.keda.sh/paused-replicas: two}}",
        fix: "Write a number of 0 or more in quotes.",
    }
    KedaMissing "ASYA650" {
        title: "KEDA is not installed",
        cause: "The cluster does not serve KEDA's ScaledObject; the actor runs without scaling.",
        example: "# a cluster without KEDA",
        fix: "Install KEDA, or set scaling.enabled to false.",
    }
    ForeignScaler "ASYA651" {
        title: "Another autoscaler scales the workload too",
        cause: "An HPA or ScaledObject of somebody else's acts on the same pods.",
        example: "# a HorizontalPodAutoscaler with the actor's Deployment as target",
        fix: "Delete the other autoscaler, or turn off the actor's scaling.",
    }
    NotScalable "ASYA652" {
        title: "Nothing can scale the target's pods",
        cause: "The bound workload has no number of replicas that an autoscaler could set; the actor runs without scaling.",
        example: "spec: {workloadRef: {apiVersion: ray.io/v1, kind: RayJob, name: train}}",
        fix: "Set scaling.enabled to false to say that this is meant.",
    }
    TargetNotBindable "ASYA701" {
        title: "An actor cannot be bound to that kind",
        cause: "Nothing is known about pods of the kind that workloadRef names.",
        example: "spec: {workloadRef: {apiVersion: v1, kind: Service, name: model}}",
        fix: "Name one of the kinds that the message lists, or call the server's URL from a handler.",
    }
    InjectionNotPossible "ASYA702" {
        title: "Containers cannot be injected into that kind",
        cause: "The target's controller would undo or refuse the injection.",
        example: "spec: {binding: {strategy: Inject}}",
        fix: "Leave binding.strategy out, or set Adapter.",
    }
    TargetUnnamed "ASYA703" {
        title: "workloadRef names no object",
        cause: "workloadRef.name is empty.",
        example: "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: \"\"}}",
        fix: "Write the name of the workload.",
    }
    AdapterNameTaken "ASYA704" {
        title: "The adapter would have the target's name",
        cause: "The adapter's Deployment is called asya- and the actor's name, and the target is called so already.",
        example: "metadata: {name: model} # with workloadRef: {kind: Deployment, name: asya-model}",
        fix: "Create the actor under another name.",
    }
    TargetUrlMissing "ASYA705" {
        title: "Nobody says where the target listens",
        cause: "runtime.targetURL is not set, and the target's kind does not tell where its server listens.",
        example: "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: model}}",
        fix: "Set runtime.targetURL, for example http://model:8080.",
    }
    FragileInjection "ASYA706" {
        title: "The sidecar may be removed from the target",
        cause: "The target's controller may undo the injection.",
        example: "spec: {binding: {strategy: Inject}}",
        fix: "Use binding.strategy Adapter where that happens.",
    }
    PodFieldNotApplied "ASYA707" {
        title: "A pod field has no effect on a bound workload",
        cause: "The pods are those of the target, of which Asya changes only what it injects.",
        example: "data: {tolerations: [{key: gpu}]} # in a flavor of a bound actor",
        fix: "Set it on the target.",
    }
    InvalidInput "ASYA801" {
        title: "The step's input is invalid",
        cause: "The input that the Composition gives to the step does not have the step's form.",
        example: "input: {target: 5}",
        fix: "Correct it in the Composition; docs/reference/inputs.md has every field.",
    }
    NoTarget "ASYA802" {
        title: "The step has no workload to act on",
        cause: "No step before it renders the composed resource that it shall inject into or scale.",
        example: "input: {target: web} # and no step composes web",
        fix: "Put the step behind the one that renders the workload, and name its composed resource in target.",
    }
    UnsuitableTarget "ASYA803" {
        title: "The sidecar cannot be injected into that object",
        cause: "The composed resource is no workload, has no pod template, or no container asya-runtime.",
        example: "input: {target: config} # a ConfigMap",
        fix: "Name a Deployment, StatefulSet or WorkloadBinding whose template has a container asya-runtime.",
    }
    InvalidYaml "ASYA901" {
        title: "The file is not YAML with Kubernetes objects",
        cause: "The text cannot be read as YAML, or a document in it is no object.",
        example: "spec: {image: app:1",
        fix: "Correct the text at the position that the message names.",
    }
    VersionNotServed "ASYA902" {
        title: "The object is of a version that is not served",
        cause: "The API server has the kind under another apiVersion.",
        example: "apiVersion: asya.sh/v1",
        fix: "Write the apiVersion that the message names.",
    }
    BareKey "ASYA903" {
        title: "A key that other tools read as a boolean",
        cause: "on, off, yes, no, y and n are booleans in the YAML that Kubernetes' tools read.",
        example: "spec: {nodeSelector: {on: gpu}}",
        fix: "Put the key in quotes.",
    }
    NestedTooDeep "ASYA904" {
        title: "The document is nested too deep for functions",
        cause: "Crossplane hands objects to functions as protobuf messages, whose decoders stop at a depth of 100.",
        example: "spec: {affinity: {a: {b: {c: {}}}}} # and so on",
        fix: "Make the document flatter.",
    }
    FlavorNotGiven "ASYA905" {
        title: "A flavor is not among the files",
        cause: "The actor names a flavor that is not among the files to be checked, so what it would set is not checked.",
        example: "spec: {flavors: [gpu]} # and no file with flavor gpu",
        fix: "Give the file with the flavor as well.",
    }
    ActorTwice "ASYA910" {
        title: "An actor is defined twice",
        cause: "Two documents have the kind, namespace and name of one actor. If both are applied, the last one wins.",
        example: "metadata: {name: embedding, namespace: ml} # in two documents",
        fix: "Remove or rename one of the two.",
    }
    ActorNameShared "ASYA911" {
        title: "Two actors have one name for workload and queue",
        cause: "spec.actor of one actor is the name, or spec.actor, of another actor in the same namespace.",
        example: "spec: {actor: embedding} # beside an actor named embedding",
        fix: "Give each actor of a namespace a name of its own.",
    }
    FlavorTwice "ASYA912" {
        title: "A flavor or the platform's settings are defined twice",
        cause: "Two EnvironmentConfigs have the same name. If both are applied, the last one wins.",
        example: "metadata: {name: gpu-standard} # in two documents",
        fix: "Remove or rename one of the two.",
    }
    FlavorUnused "ASYA913" {
        title: "No actor names a flavor",
        cause: "Actors are among the files, and none of them lists the flavor.",
        example: "metadata: {name: gpu-standard} # and no actor with flavors: [gpu-standard]",
        fix: "Name the flavor in an actor, or remove it; a flavor for actors elsewhere can stay.",
    }
    QueueShared "ASYA914" {
        title: "Two actors have one queue",
        cause: "The names of both queues are equal, on the same broker: each actor would take messages of the other.",
        example: "data: {queueNameTemplate: \"asya-{actor}\"} # and an actor of the same name in another namespace",
        fix: "Add {namespace} to queueNameTemplate of the platform's settings, or rename an actor.",
    }
}
