import DataLoader from 'dataloader'

export type PageLoader<Row> = DataLoader<PageRequest, Row[], string>

export interface PageRequest {
  /** Id of the entity that the rows belong to. */
  id: string
  /** Decimal id of the row before the page. */
  after: string
  limit: number
}

/** Reads the same page of several entities with one statement. */
export function pageLoader<Row>(
  read: (ids: string[], after: string, limit: number) => Promise<Row[]>,
  idOf: (row: Row) => string,
): PageLoader<Row> {
  const sizeOf = ({ after, limit }: PageRequest) => `${after}:${limit}`
  return new DataLoader(
    async (requests) => {
      const groups = Map.groupBy(requests, sizeOf)
      const pages = new Map<string, Map<string, Row[]>>()
      await Promise.all(
        [...groups].map(async ([size, group]) => {
          const { after, limit } = group[0]!
          const rows = await read(
            group.map(({ id }) => id),
            after,
            limit,
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

export function countLoader(
  count: (ids: readonly string[]) => Promise<Map<string, number>>,
): DataLoader<string, number> {
  return new DataLoader(async (ids) => {
    const counts = await count(ids)
    return ids.map((id) => counts.get(id) ?? 0)
  })
}
