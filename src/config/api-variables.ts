import { z } from 'zod'
import { list, network, yesOrNo } from './values.ts'
import { variable } from './variable.ts'

export const API_VARIABLES = {
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
      'File with the only GraphQL documents to execute: a JSON object of their texts by SHA-256, as written by client builds.',
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
