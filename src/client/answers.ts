import { errorOfFailure, type Failure, isFailure } from './errors.ts'

/** A page of a connection. */
export interface Connected<Node> {
  totalCount?: number
  totalCountIsExact?: boolean
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  edges: readonly { node: Node }[]
}

export interface Page<Node> {
  nodes: Node[]
  /** Cursor after which the next page starts; null on the last page. */
  next: string | null
  /** Total number on all pages, if requested; at most 10,000. */
  totalCount: number | undefined
  /** False if there are more than `totalCount`. */
  totalCountIsExact: boolean | undefined
}

export interface PageOptions {
  /** Page size: at most 100; 20 by default. */
  first?: number
  /** `next` of the previous page. */
  after?: string
}

/** Largest page size. */
export const PAGE_MAX = 100

export function pageOf<Node>({ totalCount, totalCountIsExact, pageInfo, edges }: Connected<Node>): Page<Node> {
  const { hasNextPage, endCursor } = pageInfo
  return { nodes: edges.map(({ node }) => node), next: hasNextPage ? endCursor : null, totalCount, totalCountIsExact }
}

/** Yields all items. The next page is read when the current one is used up. */
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

/** Returns the payload of a mutation's result. @throws ApiError if the result is one of the errors */
export function payloadOf<Member extends object>(member: Member): Exclude<Member, Failure> {
  if (isFailure(member)) throw errorOfFailure(member)
  return member as Exclude<Member, Failure>
}
