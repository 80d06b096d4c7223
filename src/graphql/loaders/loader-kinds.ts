import { queryFromInfo } from '@pothos/plugin-prisma'
import DataLoader from 'dataloader'
import type { GraphQLResolveInfo } from 'graphql'
import { decodeKeyset, type OrderColumn } from '../../services/paging.ts'

/** Functions that create each property of a T from a Source. */
export type Makers<Source, T> = { [Name in keyof T]: (source: Source) => T[Name] }

/** Makes objects whose properties are created on first use; until then an object costs one allocation. */
export function lazily<Source, T extends object>(makers: Makers<Source, T>): (source: Source) => T {
  class Lazy {
    readonly #source: Source

    constructor(source: Source) {
      this.#source = source
    }

    static {
      for (const name of Object.keys(makers) as (keyof T)[]) {
        const get = function (this: Lazy): T[keyof T] {
          const value = makers[name](this.#source)
          Object.defineProperty(this, name, { value })
          return value
        }
        Object.defineProperty(Lazy.prototype, name, { get })
      }
    }
  }
  return (source) => new Lazy(source) as object as T
}

export type PageLoader<Row> = DataLoader<PageRequest, Row[], string>

interface PageRequest {
  /** Id of the entity that the rows belong to. */
  id: string
  /** Id of the row before the page, or a keyset cursor (see `cursorValues`). */
  after: string
  limit: number
  /** Id of the row behind the page; only for rows with serial ids. */
  before?: string | null
  /** Whether the last rows are read, the newest first; only for rows with serial ids. */
  backward?: boolean
}

interface SerialEnd {
  before: string | null
  backward: boolean
}

/** Reads at most one value for each key; null for keys without one. */
export function valueLoader<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): DataLoader<Key, Value | null> {
  return new DataLoader(async (keys) => {
    const values = await read(keys)
    return keys.map((key) => values.get(key) ?? null)
  })
}

/** Reads the same page of several entities with one statement. */
export function pageLoader<Row>(
  read: (ids: string[], after: string, limit: number, end: SerialEnd) => Promise<Row[]>,
  idOf: (row: Row) => string,
): PageLoader<Row> {
  const sizeOf = ({ after, limit, before = null, backward = false }: PageRequest) =>
    `${after}:${limit}:${before}:${backward}`
  return new DataLoader(
    async (requests) => {
      const groups = Map.groupBy(requests, sizeOf)
      const pages = new Map<string, Map<string, Row[]>>()
      await Promise.all(
        [...groups].map(async ([size, group]) => {
          const { after, limit, before = null, backward = false } = group[0]!
          const rows = await read(
            group.map(({ id }) => id),
            after,
            limit,
            { before, backward },
          )
          pages.set(size, Map.groupBy(rows, idOf))
        }),
      )
      return requests.map((request) => pages.get(sizeOf(request))?.get(request.id) ?? [])
    },
    { cacheKeyFn: (request) => `${request.id}:${sizeOf(request)}` },
  )
}

/** Reads all rows of several entities with one statement. */
export function manyLoader<Row>(
  read: (ids: readonly string[]) => Promise<Row[]>,
  idOf: (row: Row) => string,
): DataLoader<string, Row[]> {
  return new DataLoader(async (ids) => {
    const rows = Map.groupBy(await read(ids), idOf)
    return ids.map((id) => rows.get(id) ?? [])
  })
}

/** Reads what requests with the same arguments ask for with one statement. */
export function alikeLoader<Request, Value>(
  read: (requests: readonly Request[], alike: Request) => Promise<Value[]>,
  idOf: (request: Request) => string,
  argumentsOf: (request: Request) => string,
): DataLoader<Request, Value, string> {
  const keyOf = (request: Request) => `${idOf(request)} ${argumentsOf(request)}`
  return new DataLoader(
    async (requests) => {
      const values = new Map<string, Value>()
      await Promise.all(
        [...Map.groupBy(requests, argumentsOf).values()].map(async (group) => {
          const found = await read(group, group[0]!)
          for (const [at, request] of group.entries()) values.set(keyOf(request), found[at]!)
        }),
      )
      return requests.map((request) => values.get(keyOf(request))!)
    },
    { cacheKeyFn: keyOf },
  )
}

export function countLoader(
  count: (ids: readonly string[]) => Promise<Map<string, number>>,
): DataLoader<string, number> {
  return new DataLoader(async (ids) => {
    const counts = await count(ids)
    return ids.map((id) => counts.get(id) ?? 0)
  })
}

/** The values of the order's columns in the row after which a page begins; null for the first page. */
export type PageCursor = (string | number | Date | null)[] | null

/** Decodes the cursor that `after` of a `PageRequest` holds; null if it is empty. */
export function cursorValues(order: readonly OrderColumn[], after: string): PageCursor {
  return after === '' ? null : decodeKeyset(order, after)!
}

export type NodeLoader<Row> = DataLoader<NodeRequest, Row | null, string>

interface NodeRequest {
  id: string
  query: object
  /** A key that is the same for equal queries. */
  queryKey: string
}

/** Reads the selected columns of rows by id, with one statement for all requests of the same tick and selection. */
export function nodeLoader<Row extends { id: string }>(
  read: (query: object & { where: { id: { in: string[] } } }) => Promise<Row[]>,
): NodeLoader<Row> {
  return new DataLoader(
    async (requests) => {
      const groups = [...Map.groupBy(requests, ({ queryKey }) => queryKey).values()]
      const found = await Promise.all(
        groups.map(async (group) => {
          const rows = await read({
            ...group[0]!.query,
            where: { id: { in: [...new Set(group.map(({ id }) => id))] } },
          })
          return new Map(rows.map((row) => [`${group[0]!.queryKey} ${row.id}`, row]))
        }),
      )
      return requests.map((request) => {
        const key = nodeKeyOf(request)
        return found.find((rows) => rows.has(key))?.get(key) ?? null
      })
    },
    { cacheKeyFn: nodeKeyOf },
  )
}

function nodeKeyOf({ id, queryKey }: NodeRequest): string {
  return `${queryKey} ${id}`
}

/** Loads the row with this id for the field `info`, whose type is the node itself; null if it is gone. */
export function loadNode<Row>(
  loader: NodeLoader<Row>,
  { context, info, typeName }: { context: object; info: GraphQLResolveInfo; typeName: string },
  id: string,
): Promise<Row | null> {
  const query = queryFromInfo({ context, info, typeName })
  return loader.load({ id, query, queryKey: JSON.stringify(query) })
}

/**
 * Loads the rows with these ids as nodes of the connection that the field `info` resolves to; null for rows that are
 * gone.
 */
export async function loadNodes<Row>(
  loader: NodeLoader<Row>,
  { context, info, typeName }: { context: object; info: GraphQLResolveInfo; typeName: string },
  ids: readonly string[],
): Promise<(Row | null)[]> {
  const query = queryFromInfo({ context, info, typeName, path: ['edges', 'node'] })
  const queryKey = JSON.stringify(query)
  return Promise.all(ids.map((id) => loader.load({ id, query, queryKey })))
}
