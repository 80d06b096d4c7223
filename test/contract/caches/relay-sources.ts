import { CHAIN_FIELDS, EVENT_FIELDS } from './live-server.ts'

/** Modules of a program on Relay, by name: what the compiler reads. Relay wants each operation to begin with its module. */
export const RELAY_SOURCES: Readonly<Record<string, string>> = {
  chainRow: `
    graphql\`fragment chainRow on Chain { ${CHAIN_FIELDS} }\``,

  chainList: `
    graphql\`fragment chainList on Query
      @refetchable(queryName: "chainListPageQuery")
      @argumentDefinitions(first: { type: "Int", defaultValue: 5 }, after: { type: "String" }) {
      chains(first: $first, after: $after, orderBy: { field: NAME, direction: ASC }) @connection(key: "chainList_chains") {
        edges { node { ...chainRow } }
        pageInfo { hasNextPage endCursor }
      }
    }\`
    graphql\`query chainListQuery($first: Int) { eventCursor ...chainList @arguments(first: $first) }\``,

  sessionList: `
    graphql\`fragment sessionList on Chain
      @refetchable(queryName: "sessionListPageQuery")
      @argumentDefinitions(last: { type: "Int", defaultValue: 5 }, before: { type: "String" }) {
      sessions(last: $last, before: $before) @connection(key: "sessionList_sessions") {
        edges { node { id status retryDecision { id phase holds { from to } } kernels { id status } } }
      }
    }\`
    graphql\`query sessionListQuery($id: ID!) { node(id: $id) { ... on Chain @alias(as: "chain") { ...sessionList } } }\``,

  liveChains: `
    graphql\`subscription liveChainsSubscription($after: String) {
      sessionEvents(after: $after) { ${EVENT_FIELDS} }
    }\``,

  webhooks: `
    graphql\`query webhooksQuery { webhooks(first: 10) @connection(key: "webhooks_webhooks") { edges { node { id url } } } }\`
    graphql\`mutation webhooksCreateMutation($input: CreateWebhookInput!, $connections: [ID!]!) {
      createWebhook(input: $input) {
        ... on CreateWebhookPayload { webhook @prependNode(connections: $connections, edgeTypeName: "WebhookEdge") { id url webhookId } }
        ... on Error { code message }
      }
    }\`
    graphql\`mutation webhooksDeleteMutation($input: DeleteWebhookInput!) {
      deleteWebhook(input: $input) {
        ... on DeleteWebhookPayload { deletedId @deleteRecord }
        ... on Error { code message }
      }
    }\``,

  tokens: `
    graphql\`query tokensQuery { tokens(first: 10) @connection(key: "tokens_tokens") { edges { node { id name can { administer } } } } viewer { id } }\`
    graphql\`mutation tokensRevokeMutation($input: RevokeTokenInput!, $connections: [ID!]!) {
      revokeToken(input: $input) { ... on RevokeTokenPayload { deletedId @deleteEdge(connections: $connections) token { id revokedAt } } }
    }\``,

  settings: `
    graphql\`query settingsQuery {
      quotas { id scope name usage { running } } retrySwitches { id disabled } retryDefaults { id policy { maxRetries } }
      retryDecisions(first: 5) { edges { node { id phase session { id status retryDecision { id phase } } } } }
    }\``,
}
