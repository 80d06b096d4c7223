/** A page of a connection as the server gives it. */
export interface Connected<Node> {
  totalCount?: number
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  edges: readonly { node: Node }[]
}

export interface Page<Node> {
  nodes: Node[]
  /** Behind which the next page begins; null where this is the last. */
  next: string | null
  /** On all pages together, where it was asked for. */
  totalCount: number | undefined
}

export interface PageOptions {
  /** At most 100; 20 where it is not given. */
  first?: number
  /** `next` of the page before. */
  after?: string
}

/** Most that one page may have. */
export const PAGE_MAX = 100

export function pageOf<Node>({ totalCount, pageInfo, edges }: Connected<Node>): Page<Node> {
  const { hasNextPage, endCursor } = pageInfo
  return { nodes: edges.map(({ node }) => node), next: hasNextPage ? endCursor : null, totalCount }
}

/** All items, page after page, each page read when the one before is used up. */
export async function* allPages<Node>(
  read: (page: { first: number; after?: string }) => Promise<Connected<Node>>,
): AsyncGenerator<Node, void, void> {
  let after: string | undefined
  for (;;) {
    const { nodes, next } = pageOf(await read({ first: PAGE_MAX, after }))
    yield* nodes
    if (next === null) return
    after = next
  }
}
