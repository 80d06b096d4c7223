import { z } from 'zod'
import { REQUESTS_AT_ONCE_DEFAULT } from '../domain/limits.ts'
import { list, network, wholeNumber, yesOrNo } from './values.ts'
import { variable } from './variable.ts'

export const API_VARIABLES = {
  requestsAtOnce: variable({
    name: 'REPRISE_REQUESTS_AT_ONCE',
    default: String(REQUESTS_AT_ONCE_DEFAULT),
    meaning:
      'Queries and mutations of one token that a server works on at once. More wait for up to 5 s, then they get 429.',
    unit: 'requests',
    schema: wholeNumber(1, 10_000).default(REQUESTS_AT_ONCE_DEFAULT),
  }),
  requestsPerSecond: variable({
    name: 'REPRISE_REQUESTS_PER_SECOND',
    default: '0',
    meaning: 'Queries and mutations per second of one token, with a burst of ten seconds. More get 429. 0: no limit.',
    unit: 'requests',
    schema: wholeNumber(0, 1_000_000).default(0),
  }),
  failedAuthenticationsPerSecond: variable({
    name: 'REPRISE_FAILED_AUTHENTICATIONS_PER_SECOND',
    default: '5',
    meaning:
      'Unknown tokens per second from one address, with a burst of ten seconds. More get 429 without being looked up; tokens that the server knows go on to work. 0: no limit.',
    unit: 'requests',
    schema: wholeNumber(0, 1_000_000).default(5),
  }),
  publicIntrospection: variable({
    name: 'REPRISE_PUBLIC_INTROSPECTION',
    default: 'true on a loopback address, else false',
    meaning: 'Whether the GraphQL schema can be introspected without a token: `true` or `false`.',
    unit: null,
    schema: yesOrNo().optional(),
  }),
  trustedDocuments: variable({
    name: 'REPRISE_TRUSTED_DOCUMENTS',
    default: 'any document',
    meaning:
      'File with the only GraphQL documents to execute: a JSON object of their texts by SHA-256, as written by client builds. The web UI of the server has its own besides.',
    unit: null,
    schema: z.string().optional(),
  }),
  webhookAllowNetworks: variable({
    name: 'REPRISE_WEBHOOK_ALLOW_NETWORKS',
    default: 'none',
    meaning: 'Private or otherwise special networks that webhooks may reach nevertheless, like `10.1.0.0/16,fd00::/8`.',
    unit: null,
    schema: list(network()).default([]),
  }),
}
