import { type ASTNode, type DocumentNode, type ExecutionArgs, type ExecutionResult, Kind, visit } from 'graphql'
import { SHARED_RESULTS_BYTES } from '../../domain/limits.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { GraphQLContext } from '../context.ts'

/**
 * Results of events that need nothing but the event, the operation and the viewer's rights. They are executed and
 * serialised once, however many subscriptions receive them. They live as long as their event.
 */
type Results = WeakMap<object, Map<string, ExecutionResult>>
let results: Results = new WeakMap()
/** Forgotten when the newer ones have become as many. */
let olderResults: Results = new WeakMap()
let bytes = 0
const sharedBytes = new WeakMap<ExecutionResult, number>()
const payloads = new WeakMap<ExecutionResult, Buffer>()

/** @param key what the result depends on besides the event; see `sharingKey` */
export function findShared(event: unknown, key: string): ExecutionResult | undefined {
  return isObject(event) ? (results.get(event)?.get(key) ?? olderResults.get(event)?.get(key)) : undefined
}

/** The result must have been complete as soon as it was executed: then it has read nothing from the database. */
export function keepShared(event: unknown, key: string, result: ExecutionResult): void {
  if (!isObject(event) || result.errors) return
  const known = results.get(event)
  if (known) known.set(key, result)
  else results.set(event, new Map([[key, result]]))
  const { length } = payloadOf(result)
  sharedBytes.set(result, length)
  noteShared(length)
}

/** Counts memory that lives as long as shared results, and bounds it. */
export function noteShared(more: number): void {
  bytes += more
  if (bytes < SHARED_RESULTS_BYTES / 2) return
  olderResults = results
  results = new WeakMap()
  bytes = 0
}

export function isShared(result: ExecutionResult): boolean {
  return sharedBytes.has(result)
}

/** A result as JSON. */
export function payloadOf(result: ExecutionResult): Buffer {
  const known = payloads.get(result)
  if (known) return known
  const payload = Buffer.from(JSON.stringify(result))
  payloads.set(result, payload)
  return payload
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

interface Document {
  number: number
  /** Variables outside the arguments of the subscription's own field, which only choose its events. */
  variables: readonly string[]
}

/** By document, which is the same object each time its text is executed. */
const documents = new WeakMap<DocumentNode, Document>()
let numbered = 0

/** What the result of an event depends on besides the event. Equal for subscriptions that receive equal results. */
export function sharingKey({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
  const { number, variables } = documents.get(document) ?? numberDocument(document)
  const { role, projectId, resourceGroups } = (contextValue as GraphQLContext).viewer
  const values = variables.map((name) => variableValues?.[name])
  return JSON.stringify([number, operationName, role, projectId, resourceGroups, ...values])
}

/** Attributes of a viewer that are not in the key. */
const PERSONAL = ['tokenId', 'userId', 'name', 'sessionOf', 'reason', 'request'] as const

/** A viewer that tells when an attribute is read that is not in the key: the result is this viewer's own. */
export function watchedViewer(viewer: Viewer, onPersonal: () => void): Viewer {
  const watched = { ...viewer }
  for (const name of PERSONAL) {
    const get = () => {
      onPersonal()
      return viewer[name]
    }
    Object.defineProperty(watched, name, { get, enumerable: true })
  }
  return watched
}

function numberDocument(document: DocumentNode): Document {
  const variables = new Set<string>()
  const collectFrom = (node: ASTNode) => {
    visit(node, {
      Variable({ name }) {
        variables.add(name.value)
      },
    })
  }
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) collectFrom(definition)
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    for (const selection of definition.selectionSet.selections)
      collectFrom(selection.kind === Kind.FIELD ? { ...selection, arguments: [] } : selection)
  }
  const numberedDocument = { number: ++numbered, variables: [...variables] }
  documents.set(document, numberedDocument)
  return numberedDocument
}
