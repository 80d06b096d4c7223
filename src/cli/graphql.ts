import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { act, collect, describedCommand } from './client-command.ts'
import { pair } from './options/values.ts'
import { UsageError } from './present-error.ts'

interface GraphqlOptions {
  variables?: string
  variable?: string[]
}

export function graphqlCommand(): Command {
  const command = describedCommand('graphql', 'send a GraphQL document, and print the data of the response as JSON', [
    "reprise graphql '{ viewer { name role } }'",
    "reprise graphql 'query ($name: String!) { quota(scope: PROJECT, name: $name) { maxRunning } }' --variable name=default",
    `echo '{ now }' | reprise graphql -`,
  ])
    .argument('<document>', 'a query, mutation or subscription; `-` reads it from standard input')
    .option('--variables <json>', 'all variables, as a JSON object')
    .option('--variable <name=value>', 'one variable; the value is JSON, otherwise text; may be repeated', collect)
  return act<GraphqlOptions>(command, async ({ client, out, signal }, options, [given]) => {
    const document = given === '-' ? readFileSync(0, 'utf8') : given!
    const variables = variablesOf(options)
    if (await isSubscription(document)) {
      for await (const data of client.stream<object>(document, variables, { signal })) out.print(JSON.stringify(data))
      return
    }
    out.print(JSON.stringify(await client.request(document, variables, { signal }), null, 2))
  })
}

function variablesOf({ variables, variable = [] }: GraphqlOptions): Record<string, unknown> {
  const one = variable.map((text) => pair(text)).map(([name, value]) => [name, jsonOr(value, value)] as const)
  const all = variables === undefined ? {} : jsonOr(variables, undefined)
  if (typeof all !== 'object' || all === null) throw new UsageError('--variables must be a JSON object.')
  return { ...all, ...Object.fromEntries(one) }
}

function jsonOr<Other>(text: string, other: Other): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return other
  }
}

/**
 * Whether a document is a subscription. One that cannot be parsed counts as a query, so that the server reports the
 * fault.
 */
async function isSubscription(document: string): Promise<boolean> {
  const { getOperationAST, OperationTypeNode, parse } = await import('graphql')
  try {
    return getOperationAST(parse(document))?.operation === OperationTypeNode.SUBSCRIPTION
  } catch {
    return false
  }
}
