/** What the client reads off a document without a parser is what a parser says. */
import { buildSchema, Kind, type OperationDefinitionNode, parse, print } from 'graphql'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeDocument, describeSubscription, FINITE } from '../../../src/client/connection/describe-document.ts'
import { ClientConfigurationError } from '../../../src/client/errors.ts'
import * as operations from '../../../src/client/operations.generated.ts'

const OURS = Object.entries(operations).flatMap(([name, document]) =>
  name.endsWith('Document') ? [String(document)] : [],
)

const OTHERS = [
  '{ sessions { edges { node { id } } } }',
  'query { now }',
  '  query,Q{now}',
  'query Q($filter: SessionFilter = {name: "} { mutation M {"}, $n: [Int!] = [1, 2]) { sessions(filter: $filter) { id } }',
  '# query Not { it }\nmutation Do($input: A!) @tracked(by: {a: "x"}) { a: createSession(input: $input) { id } }',
  'fragment subscription on Query { now } query query { ...subscription now }',
  'query fragment { query: now } fragment fragment on Query { now }',
  'subscription S($after: String, $of: [UUID!]) { e: sessionEvents(filter: {chainIds: $of, project: "after: $x"}, after: $after) @x(after: $of) { cursor } }',
  'subscription ($cursor: String) { changes(everyMs: 1e3, after:$cursor, filter: {chainIds: [$a, $b]}) { cursor } }',
  'subscription S { sessionEvents(after: "MDow") { cursor } }',
  'subscription S { sessionEvents { cursor } }',
  'query Q { session(id: """block " } \\""" { """) { id } } ',
]

function parsed(text: string) {
  const { definitions } = parse(text)
  const operation = definitions.find(
    (each): each is OperationDefinitionNode => each.kind === Kind.OPERATION_DEFINITION,
  )!
  const field = operation.selectionSet.selections[0]!
  const variables = new Map<string, string>()
  if (field.kind === Kind.FIELD)
    for (const { name, value } of field.arguments ?? [])
      if (value.kind === Kind.VARIABLE) variables.set(name.value, value.name.value)
  return {
    kind: operation.operation,
    name: operation.name?.value ?? operation.operation,
    field: field.kind === Kind.FIELD ? field.name.value : null,
    variables,
  }
}

test.each([...OURS, ...OTHERS])('%s', (text) => {
  expect(describeDocument(text)).toEqual(parsed(text))
  expect(describeDocument(print(parse(text)))).toEqual(parsed(text))
})

test.each([
  '',
  '   ',
  'fragment F on Query { now }',
  'query A { now } query B { now }',
  '{ now } { now }',
  'type A { a: Int }',
])('a document without exactly one operation: %j', (text) =>
  expect(() => describeDocument(text)).toThrow(ClientConfigurationError),
)

test.each([
  'query Q {',
  'query Q(',
  '{',
  '}',
  '"',
  '"""',
  'query Q { a(b: "',
  ')))',
  'query Q { a(b',
  'query Q { a(b:',
])('a document that is broken is the server’s to refuse, or refused: %j', (text) => {
  try {
    expect(describeDocument(text).kind).toBe('query')
  } catch (error) {
    expect(error).toBeInstanceOf(ClientConfigurationError)
  }
})

describe('subscriptions', () => {
  test('that could miss something are refused before they begin', () => {
    const refused = (text: string) => expect(() => describeSubscription(text)).toThrow(ClientConfigurationError)
    refused('subscription S { sessionEvents { cursor } }')
    refused('subscription S { sessionEvents(after: "MDow") { cursor } }')
    refused('subscription S { kernelLogs(kernelId: "x") { cursor } }')
    refused('query Q { now }')
    expect(describeSubscription('subscription S($a: String) { x: changes(after: $a) { cursor } }')).toMatchObject({
      cursorVariable: 'a',
      endsByItself: false,
    })
    expect(describeSubscription('subscription S { resubmissionProgress(id: "x") { state } }')).toMatchObject({
      cursorVariable: null,
      endsByItself: true,
    })
  })

  test('have a cursor, or end by themselves, as the schema says', () => {
    const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../../schema.graphql'), 'utf8'))
    const fields = Object.values(schema.getSubscriptionType()!.getFields())
    const finite = fields.filter(({ description }) => /until it has ended|Completes when/.test(description!))
    const hasCursor = ({ args }: (typeof fields)[number]) => args.some(({ name }) => name === 'after')
    expect(Object.fromEntries(finite.map((field) => [field.name, { cursor: hasCursor(field) }]))).toEqual(FINITE)
    expect(fields.filter((field) => !finite.includes(field) && !hasCursor(field))).toEqual([])
  })
})
