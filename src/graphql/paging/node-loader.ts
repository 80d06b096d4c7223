import { queryFromInfo } from '@pothos/plugin-prisma'
import DataLoader from 'dataloader'
import type { GraphQLResolveInfo } from 'graphql'

export type NodeLoader<Row> = DataLoader<NodeRequest, Row | null, string>

export interface NodeRequest {
  id: string
  query: object
  /** The same for equal queries. */
  queryKey: string
}

/** Reads what a selection needs of rows by their ids, with one statement for all that are asked for in the same tick. */
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
        const key = keyOf(request)
        return found.find((rows) => rows.has(key))?.get(key) ?? null
      })
    },
    { cacheKeyFn: keyOf },
  )
}

function keyOf({ id, queryKey }: NodeRequest): string {
  return `${queryKey} ${id}`
}

/** The rows with these ids as nodes of the connection that the field `info` resolves to; null for those that are gone. */
export async function loadNodes<Row>(
  loader: NodeLoader<Row>,
  { context, info, typeName }: { context: object; info: GraphQLResolveInfo; typeName: string },
  ids: readonly string[],
): Promise<(Row | null)[]> {
  const query = queryFromInfo({ context, info, typeName, path: ['edges', 'node'] })
  const queryKey = JSON.stringify(query)
  return Promise.all(ids.map((id) => loader.load({ id, query, queryKey })))
}
