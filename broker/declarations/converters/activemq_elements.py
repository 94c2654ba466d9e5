"""Parts of an ``activemq.xml`` that have no equal here, each with what to do.

Source:
    ActiveMQ Classic, "Xml Reference"; its classes BrokerService and PolicyEntry, with
    their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.not_here import (
    CLIENTS,
    CLUSTER,
    CODE,
    CONSUMERS,
    ENDPOINT,
    GROUPS,
    LINK,
    MANAGED,
    ON_DISK,
    PROCESS,
    SLOW,
    STORE,
    WHO,
    NotHere,
    rows,
)

ANOTHER = "It is another broker. Put it into a file of its own, and convert that."
BOTH = (
    "A queue and a topic of one name are two destinations there. Here they are one"
    " address, and its queue gets what is sent to the topic, too: rename one."
)
NO_DESTINATION = "It is for no queue or topic that is known here; it is left out."
STRATEGY = "It is no strategy that is known here. Set dead_letter_address yourself."
ONE_DELAY = (
    "Here the first delay is like the later ones; with useExponentialBackOff, the later"
    " ones grow from the first."
)
GROUP_CLASS = "Roles are groups of Django here."
TEMPORARY = "Temporary queues need no authority here: they are their client's."
ADMIN = (
    "No authority is needed here for what a client makes for itself. Who makes queues"
    " has a role (docs/rights.md)."
)
RIGHTS = {"admin": ADMIN, "groupClass": GROUP_CLASS}
MAPS = {"cachedLDAPAuthorizationMap", "lDAPAuthorizationMap", "bean"}
DIRECTORY = "Rights come from a directory there. See docs/single-sign-on.md."
COMPOSITE = (
    "There are no composite destinations here. Where programs send to it only, make the"
    " queues below it queues of one address, each with its filter as the selector."
)
VIRTUAL = (
    "Declare a queue of the topic's address for each consumer, as"
    ' [queues."Consumer.A.VirtualTopic.Orders"] address = "VirtualTopic.Orders",'
    ' routing_type = "multicast"; queues of the file that it feeds are declared so.'
)
INTERCEPTORS: Mapping[str, str] = {
    "virtualTopic": VIRTUAL,
    "compositeQueue": COMPOSITE,
    "compositeTopic": COMPOSITE,
    "mirroredQueue": "Make another queue of the same address, of multicast.",
    "bean": CODE,
}
EACH: Mapping[str, str] = {
    "transportConnectors": ENDPOINT,
    "networkConnectors": LINK,
    "jmsBridgeConnectors": LINK,
    "proxyConnectors": "Clients connect to this broker itself.",
}
SPRING: Mapping[str, str] = {
    "bean": "It is a bean of Spring, which is not read.",
    "import": "Another file is imported here, which is not read: see what is in it.",
    "property-placeholder": "The values of placeholders come from there: write them.",
    "properties": "The values of placeholders come from there: write them.",
    "camelContext": "Routes of Camel become handlers, or links (docs/bridges.md).",
    "connectionFactory": CLIENTS,
}
OWN_THREADS = "It concerns threads and caches of the other broker; nothing to do."
LIMITED = "A queue has max_depth here, and a put to a full queue is refused."
ADVISED = "There are no advisories here: see docs/alerts.md and docs/metrics.md."
PREFETCH = "Each client sets its own window, which is credit in AMQP."
STAYS = "Addresses and queues are declared here, and stay."
POLICY: Mapping[str, NotHere] = dict([
    *rows(LIMITED, [
        "memoryLimit", "storeUsageHighWaterMark", "cursorMemoryHighWaterMark",
        "blockedProducerWarningInterval", "maxDestinations", "producerFlowControl",
        "alwaysRetroactive", "reduceMemoryFootprint", "minimumMessageSize",
    ]),
    *rows(PREFETCH, [
        "queuePrefetch", "topicPrefetch", "queueBrowserPrefetch",
        "durableTopicPrefetch", "usePrefetchExtension", "maxQueueAuditDepth",
    ]),
    *rows(STAYS, ["gcInactiveDestinations", "gcWithOnlyWildcardConsumers"], "false"),
    *rows(STAYS, [
        "inactiveTimeoutBeforeGC", "inactiveTimoutBeforeGC", "gcWithNetworkConsumers",
    ]),
    *rows("Messages of a higher priority go first here.", [
        "prioritizedMessages",
    ], "true"),
    *rows("Set BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S, for all queues.", [
        "expireMessagesPeriod",
    ]),
    *rows(CONSUMERS, ["allConsumersExclusiveByDefault"], "false"),
    *rows(CONSUMERS, [
        "timeBeforeDispatchStarts", "consumersBeforeDispatchStarts",
    ], "0"),
    *rows(CONSUMERS, [
        "strictOrderDispatch", "useConsumerPriority", "doOptimzeMessageStorage",
        "dispatchPolicy", "lazyDispatch", "optimizedDispatch", "persistJMSRedelivered",
    ]),
    *rows(ADVISED, [
        "advisoryForConsumed", "advisoryForDelivery", "advisoryForDiscardingMessages",
        "advisoryForFastProducers", "advisoryForSlowConsumers", "advisoryWhenFull",
        "advisdoryForFastProducers", "includeBodyForAdvisory",
        "sendAdvisoryIfNoConsumers", "advancedMessageStatisticsEnabled",
        "advancedNetworkStatisticsEnabled",
    ], "false"),
    *rows(OWN_THREADS, [
        "useCache", "maxPageSize", "maxBrowsePageSize", "maxExpirePageSize",
        "enableAudit", "maxAuditDepth", "maxProducersToAudit", "topicGroups",
        "pendingQueuePolicy", "pendingSubscriberPolicy",
        "pendingDurableSubscriberPolicy", "networkBridgeFilterFactory",
        "sendDuplicateFromStoreToDLQ", "useTopicSubscriptionInflightStats",
        "queueBrowserPolicy", "id",
    ]),
    *rows(SLOW, ["slowConsumerStrategy", "pendingMessageLimitStrategy"]),
    *rows(GROUPS, ["messageGroupMapFactory", "messageGroupMapFactoryType"]),
    *rows(
        "A subscription has what is sent after it was made; make it durable to miss"
        " nothing.",
        ["subscriptionRecoveryPolicy"],
    ),
    *rows(NO_DESTINATION, ["tempQueue", "tempTopic", "destination"]),
])  # fmt: skip
DEAD_LETTERS: Mapping[str, NotHere] = dict([
    *rows("Dead letters that are not persistent are kept here, too.", [
        "processNonPersistent",
    ], "true"),
    *rows("Give the dead letter address a setting with this expiry_delay.", [
        "expiration",
    ], "0"),
    *rows("Dead letters go to queues here, which are of their address.", [
        "useQueueForQueueMessages", "useQueueForTopicMessages",
    ], "true"),
    *rows("Dead letters of all subscriptions of a topic are together here.", [
        "destinationPerDurableSubscriber",
    ], "false"),
    *rows("It is for the other kind of destinations.", [
        "queuePrefix", "topicPrefix", "queueSuffix", "topicSuffix",
    ]),
    *rows(OWN_THREADS, [
        "enableAudit", "maxAuditDepth", "maxProducersToAudit", "id",
    ]),
])  # fmt: skip
REDELIVERY: Mapping[str, NotHere] = dict([
    *rows("Without a policy, the address settings decide here.", [
        "fallbackToDeadLetter",
    ], "true"),
    *rows('Where they are to be discarded, set dead_letter_address = "".', [
        "sendToDlqIfMaxRetriesExceeded",
    ], "true"),
    *rows(OWN_THREADS, ["preDispatchCheck", "id"]),
])  # fmt: skip
TIME_STAMPING: Mapping[str, NotHere] = dict(
    rows(
        "The time of a put is that of the database here, for all messages.",
        ["futureOnly", "processNetworkMessages"],
    )
)
USERS = (
    "Make users and groups of Django, or use single sign-on (docs/single-sign-on.md)."
)
PLUGINS: Mapping[str, NotHere] = dict([
    *rows(USERS, [
        "simpleAuthenticationPlugin", "jaasAuthenticationPlugin",
        "jaasCertificateAuthenticationPlugin", "jaasDualAuthenticationPlugin",
    ]),
    *rows(
        "Dead letters are dropped there. Where you want that, set"
        ' dead_letter_address = "" and discard_retention.',
        ["discardingDLQBrokerPlugin"],
    ),
    *rows(MANAGED, [
        "statisticsBrokerPlugin", "loggingBrokerPlugin", "multicastTraceBrokerPlugin",
        "udpTraceBrokerPlugin", "traceBrokerPathPlugin", "runtimeConfigurationPlugin",
        "connectionDotFilePlugin", "destinationDotFilePlugin",
    ]),
    *rows("All messages are persistent here.", ["forcePersistencyModeBrokerPlugin"]),
    *rows("Words of names are separated by dots here.", [
        "destinationPathSeparatorPlugin",
    ]),
    *rows(CODE, ["bean", "virtualSelectorCacheBrokerPlugin", "destinationsPlugin"]),
])  # fmt: skip
BROKER: Mapping[str, NotHere] = dict([
    *rows("Set BROKER_NAME to it (docs/settings.md).", ["brokerName"]),
    *rows(STORE, ["persistent"], "true"),
    *rows("Messages can be delayed and repeated here (docs/recurring.md).", [
        "schedulerSupport",
    ], "true"),
    *rows(STORE, [
        "dataDirectory", "schedulerDirectory", "tmpDataDirectory", "dataDirectoryFile",
        "deleteAllMessagesOnStartup", "enableStatistics", "useLocalHostBrokerName",
        "schedulePeriodForDiskUsageCheck", "diskUsageCheckRegrowThreshold",
        "adjustUsageLimits",
    ]),
    *rows(MANAGED, ["useJmx", "createConnector", "populateJMSXUserID"]),
    *rows(ADVISED, ["advisorySupport", "anonymousProducerAdvisorySupport"], "false"),
    *rows(STAYS, [
        "schedulePeriodForDestinationPurge", "purgeInactiveDestinations",
        "maxPurgedDestinationsPerSweep", "keepDurableSubsActive",
        "offlineDurableSubscriberTimeout", "offlineDurableSubscriberTaskSchedule",
        "allowTempAutoCreationOnSend",
    ]),
    *rows(PROCESS, [
        "start", "startAsync", "brokerId", "useShutdownHook", "id", "depends-on",
        "lazy-init",
        "dedicatedTaskRunner", "taskRunnerPriority", "maxSchedulerRepeatAllowed",
        "useLoggingForShutdownErrors", "systemExitOnShutdown",
        "monitorConnectionSplits",
        "restartAllowed", "init-method", "destroy-method", "networkConnectorStartAsync",
        "splitSystemUsageForProducersConsumers", "producerSystemUsagePortion",
        "consumerSystemUsagePortion", "useAuthenticatedPrincipalForJMSXUserID",
        "cacheTempDestinations", "timeBeforePurgeTempDestinations",
        "mbeanInvocationTimeout",
        "rollbackOnlyOnAsyncException", "waitForSlave", "shutdownOnMasterFailure",
        "shutdownOnSlaveFailure", "slave", "masterConnectorURI", "vmConnectorURI",
        "storeOpenWireVersion", "useVirtualDestSubs", "useVirtualDestSubsOnCreation",
        "supportFailOver", "waitForSlaveTimeout", "maxUncommittedCount",
    ]),
    *rows("A queue is fed by one address here.", ["useVirtualTopics"], "true"),
    *rows("Make another queue of the same address.", ["useMirroredQueues"], "false"),
])  # fmt: skip
SECTIONS: Mapping[str, NotHere] = dict([
    *rows(STORE, [
        "persistenceAdapter", "persistenceFactory", "kahaPersistenceAdapter",
        "tempDataStore", "jobSchedulerStore", "ioExceptionHandler",
        "persistenceThreadPriority",
    ]),
    *rows(
        f"{ON_DISK} The disk is watched (BACKOUT_DISK_FULL_PERCENT).",
        ["systemUsage", "memoryManager", "usageManager"],
    ),
    *rows(MANAGED, ["managementContext", "messageAuthorizationPolicy"]),
    *rows("For TLS, set BROKER_AMQP_CERTIFICATE and BROKER_AMQP_KEY.", ["sslContext"]),
    *rows(WHO, ["authorizationPlugin"]),
    *rows(PROCESS, [
        "shutdownHooks", "services", "brokerContext", "producerSystemUsage",
        "consumerSystemUsage", "taskRunnerFactory", "destinationFactory",
    ]),
    *rows(CLUSTER, ["masterConnector", "locker"]),
    *rows(CLIENTS, ["brokerService", "transportConnectorURIs", "networkConnectorURIs"]),
])  # fmt: skip
EMPTY = {
    *("beans", "broker", "destinations", "destinationPolicy", "policyMap", "plugins"),
    *("policyEntries", "destinationInterceptors", "virtualDestinations"),
    *("virtualDestinationInterceptor", "defaultEntry", *EACH),
}
