import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { buildSchema, Kind, type OperationDefinitionNode, parse, print } from 'graphql'
import { describe, expect, test } from 'vitest'
import { presentError } from '../../../src/cli/present-error.ts'
import { describeDocument, describeSubscription, FINITE } from '../../../src/client/connection/describe-document.ts'
import {
  ApiError,
  ClientConfigurationError,
  errorOfFailure,
  errorOfFaults,
  InternalError,
} from '../../../src/client/errors.ts'
import { lastLines } from '../../../src/client/log.ts'
import * as operations from '../../../src/client/operations.generated.ts'
import { type ErrorCode, ERRORS, type ErrorType } from '../../../src/domain/errors.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('documents', () => {
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

    test('have a cursor, or end by themselves, as in the schema', () => {
      const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../../schema.graphql'), 'utf8'))
      const fields = Object.values(schema.getSubscriptionType()!.getFields())
      const finite = fields.filter(({ description }) => /until it has ended|Completes when/.test(description!))
      const hasCursor = ({ args }: (typeof fields)[number]) => args.some(({ name }) => name === 'after')
      expect(Object.fromEntries(finite.map((field) => [field.name, { cursor: hasCursor(field) }]))).toEqual(FINITE)
      expect(fields.filter((field) => !finite.includes(field) && !hasCursor(field))).toEqual([])
    })
  })
})

describe('the end of a log', () => {
  interface Chunk {
    stream: 'STDOUT' | 'STDERR'
    text: string
  }

  function tailOf(chunks: readonly Chunk[], count: number): Chunk[] {
    const cut = lastLines(count)
    const tail: Chunk[] = []
    for (const chunk of chunks.toReversed()) {
      const { text, complete } = cut(chunk)
      if (text !== '') tail.unshift({ ...chunk, text })
      if (complete) break
    }
    return tail
  }

  const text = fc.string({ maxLength: 8, unit: fc.constantFrom('a', '\n', 'é') })

  test('of one stream they are its last lines, wherever its chunks end', () => {
    checkProperty(
      fc.property(fc.array(text), fc.nat(6), (texts, count) => {
        const whole = texts.join('')
        const lines = whole.match(/[^\n]*\n|[^\n]+$/g) ?? []
        const tail = tailOf(
          texts.map((each) => ({ stream: 'STDOUT', text: each })),
          count,
        )
        expect(tail.map((chunk) => chunk.text).join('')).toBe(lines.slice(Math.max(0, lines.length - count)).join(''))
      }),
    )
  })

  test.each<[string, number, Chunk[], string]>([
    ['lines of both count, as they arrived', 2, written('o:a\n', 'e:b\n', 'o:c\n'), 'b\nc\n'],
    ['what each has not ended counts', 3, written('o:a\nb', 'e:c\nd'), 'bc\nd'],
    ['none', 0, written('o:a\nb'), ''],
    ['more than there are', 9, written('o:a\n', 'e:b'), 'a\nb'],
    ['empty ones', 2, written('o:\n\n', 'e:\n'), '\n\n'],
  ])('of two streams: %s', (_name, count, given, expected) => {
    expect(
      tailOf(given, count)
        .map((chunk) => chunk.text)
        .join(''),
    ).toBe(expected)
  })

  function written(...texts: string[]): Chunk[] {
    return texts.map((each) => ({ stream: each.startsWith('e') ? 'STDERR' : 'STDOUT', text: each.slice(2) }))
  }
})

describe('errors', () => {
  /** Requests that are refused before they are read have no result. */
  const CODES = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].type !== 'RequestError')

  test.each(CODES)('%s in a result is of the class of its type', (code) => {
    const { type } = ERRORS[code]
    const error = errorOfFailure({ __typename: type, code, message: 'm' })
    expect(error).toBeInstanceOf(ApiError)
    expect({ name: error.name, code: error.code, message: error.message }).toEqual({ name: type, code, message: 'm' })
  })

  test.each(Object.keys(ERRORS) as ErrorCode[])(
    '%s among the errors of an answer is the error of the table',
    (code) => {
      const { type, httpStatus, retryable } = ERRORS[code]
      const error = errorOfFaults([{ message: 'm', extensions: { code } }])
      expect(error).toMatchObject({ name: httpStatus >= 500 ? 'UnavailableError' : type, code, retryable })
    },
  )

  /** Exit statuses by type, of all codes: a program that calls the command line branches on these. */
  const STATUSES: Record<ErrorType, number> = {
    ValidationError: 2,
    NotFoundError: 3,
    ForbiddenError: 4,
    ConflictError: 5,
    InvalidStateError: 5,
    QuotaExceededError: 5,
    RequestError: 1,
  }

  test.each(Object.keys(ERRORS) as ErrorCode[])('%s has the exit status of its type', (code) => {
    const { type, httpStatus } = ERRORS[code]
    const { status } = presentError(errorOfFaults([{ message: 'm', extensions: { code } }]), undefined)
    expect(status).toBe(httpStatus >= 500 ? 69 : STATUSES[type])
  })

  test('issues and request id are kept', () => {
    const issues = [{ path: 'name', message: 'is empty' }]
    expect(
      errorOfFailure({ __typename: 'ValidationError', code: 'VALIDATION_FAILED', message: 'm', issues }),
    ).toMatchObject({ issues })
    const fault = errorOfFaults([{ message: 'm', extensions: { code: 'INTERNAL', requestId: 'r1' } }])
    expect(fault).toBeInstanceOf(InternalError)
    expect(fault).toMatchObject({ requestId: 'r1', retryable: true })
  })

  test('an unknown error is an ApiError with the server’s code', () => {
    expect(errorOfFailure({ __typename: 'NewError', code: 'NEW', message: 'm' })).toMatchObject({ code: 'NEW' })
    expect(errorOfFaults([{ message: 'm' }])).toMatchObject({ name: 'ApiError', code: 'GRAPHQL_ERROR' })
  })
})
