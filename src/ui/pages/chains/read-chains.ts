import type { Client } from '@urql/core'
import type { ChainFilter, ChainOrder } from '../../../client/schema-types.generated.ts'
import { serverNow, setServerNow } from '../../api/clock.ts'
import { UNCACHED } from '../../api/connection.ts'
import { chainFilterOf } from '../../app/list/filters.ts'
import { DEFAULT_ORDER, ORDERS, type SearchOf } from '../../app/list/search.ts'
import {
  UiChainCountsDocument,
  type UiChainCountsQuery,
  type UiChainRowFragment,
  UiChainsDocument,
  type UiChainsQuery,
  type UiChainsQueryVariables,
} from './chains.generated.ts'

export type ChainRow = UiChainRowFragment
export type Counts = UiChainCountsQuery['chains']['counts']

/** As high as rows are at least. */
const ROW_PX = 37
const FIRST_ROWS_MIN = 20
/** More than a screen: nothing has to be asked for after them before somebody scrolls. */
const AGAIN_ROWS = 50
export const PAGE_ROWS = 100

export interface Listed {
  rows: readonly ChainRow[]
  endCursor: string | null
  hasMore: boolean
  /** Of the events that are in it. */
  cursor: string
}

/** The data that a list begins with. */
export interface FirstRead {
  rows: Promise<Listed>
  /** Null without an answer: the list does without. */
  counts: Promise<Counts | null>
}

/** Reads the next page of a list. */
export async function readMore(client: Client, filter: ChainFilter, orderBy: ChainOrder, after: string) {
  return listedIn(await ask(client, { filter, orderBy, first: PAGE_ROWS, after, together: false }))
}

/** A screen of them: the others are asked for once these are drawn. */
function firstRows(): number {
  return Math.min(Math.max(Math.ceil(innerHeight / ROW_PX), FIRST_ROWS_MIN), PAGE_ROWS)
}

/** Rows and counts, each as soon as it is there. */
export function readFirst(client: Client, filter: ChainFilter, orderBy: ChainOrder): FirstRead {
  const counts = client.query(UiChainCountsDocument, { filter: countedWith(filter) }, UNCACHED).toPromise()
  return {
    rows: ask(client, { filter, orderBy, first: firstRows(), together: false }).then(listedIn),
    counts: counts.then(({ data }) => data?.chains.counts ?? null),
  }
}

/** The same by one request: of a list that is shown, and read again as often as something changes. */
export function readAgain(client: Client, filter: ChainFilter, orderBy: ChainOrder): FirstRead {
  const both = ask(client, { filter, orderBy, first: AGAIN_ROWS, counted: countedWith(filter), together: true })
  return { rows: both.then(listedIn), counts: both.then(({ counted }) => counted?.counts ?? null).catch(() => null) }
}

async function ask(client: Client, variables: UiChainsQueryVariables): Promise<UiChainsQuery> {
  const { data, error } = await client.query(UiChainsDocument, variables, UNCACHED).toPromise()
  if (!data) throw error ?? new Error('The server sent no answer')
  setServerNow(data.now)
  return data
}

function listedIn({ chains: { edges, pageInfo }, eventCursor }: UiChainsQuery): Listed {
  return {
    rows: edges.map(({ node }) => node),
    endCursor: pageInfo.endCursor,
    hasMore: pageInfo.hasNextPage,
    cursor: eventCursor,
  }
}

/** Each state is counted, whichever is listed. */
function countedWith(filter: ChainFilter): ChainFilter {
  return { ...filter, state: undefined }
}

/** Lists of the same key are the same. */
export function keyOf(search: SearchOf<'chains'>): string {
  return JSON.stringify({ ...search, dropped: undefined })
}

interface Begun {
  key: string
  at: number
  read: FirstRead
  /** Once it is there. */
  listed: Listed | null
}

/** Later than this it is no longer what there is. */
const BEGUN_FOR_MS = 5_000
let begun: Begun | null = null

/**
 * Reads the first rows while the program is still about to draw what surrounds them. Not of a time before now: it is
 * not known yet by the server's clock.
 */
export function beginToRead(client: Client, search: SearchOf<'chains'>): void {
  if (search.since !== undefined) return
  const read = readFirst(client, chainFilterOf(search, serverNow()), ORDERS[search.order ?? DEFAULT_ORDER])
  const own: Begun = { key: keyOf(search), at: performance.now(), read, listed: null }
  begun = own
  read.rows.then(
    (listed) => {
      own.listed = listed
    },
    () => {
      if (begun === own) begun = null
    },
  )
}

export function begunFor(key: string): Begun | null {
  return begun?.key === key && performance.now() - begun.at < BEGUN_FOR_MS ? begun : null
}

/** It is used once. */
export function takeBegun(key: string): FirstRead | null {
  const found = begunFor(key)
  begun = null
  return found?.read ?? null
}
