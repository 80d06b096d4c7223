import type { Client } from '@urql/core'
import type { ChainFilter, ChainOrder } from '../../../client/schema-types.generated.ts'
import { serverNow, setServerNow } from '../../api/clock.ts'
import { UNCACHED } from '../../api/connection.ts'
import { chainFilterOf } from '../../app/list/filters.ts'
import { DEFAULT_ORDER, ORDERS, type SearchOf } from '../../app/list/search.ts'
import {
  UiChainCountsDocument,
  type UiChainCountsQuery,
  UiChainsDocument,
  type UiChainsQuery,
  type UiChainsQueryVariables,
  type UiListedChainFragment,
} from './chains.generated.ts'

export type ChainRow = UiListedChainFragment
export type Counts = UiChainCountsQuery['chains']['counts']

/** The least height of a row. */
const ROW_PX = 37
const FIRST_ROWS_MIN = 20
/** More than a screen, so that nothing else is read before the user scrolls. */
const AGAIN_ROWS = 50
export const PAGE_ROWS = 100

export interface Listed {
  rows: readonly ChainRow[]
  endCursor: string | null
  hasMore: boolean
  /** The cursor of the newest event in the data. */
  cursor: string
}

/** The first data of a list. */
export interface FirstRead {
  rows: Promise<Listed>
  /** Null without an answer; the list works without counts. */
  counts: Promise<Counts | null>
}

/** Reads the next page of a list. */
export async function readMore(client: Client, filter: ChainFilter, orderBy: ChainOrder, after: string) {
  return listedIn(await ask(client, { filter, orderBy, first: PAGE_ROWS, after, together: false }))
}

/** One screen of rows; the others are read after these are drawn. */
function firstRows(): number {
  return Math.min(Math.max(Math.ceil(innerHeight / ROW_PX), FIRST_ROWS_MIN), PAGE_ROWS)
}

/** Reads rows and counts by two requests, so that each is shown as soon as it comes. */
export function readFirst(client: Client, filter: ChainFilter, orderBy: ChainOrder): FirstRead {
  const counts = readCounts(client, filter)
  return { rows: ask(client, { filter, orderBy, first: firstRows(), together: false }).then(listedIn), counts }
}

export async function readCounts(client: Client, filter: ChainFilter): Promise<Counts | null> {
  const { data } = await client.query(UiChainCountsDocument, { filter: countedWith(filter) }, UNCACHED).toPromise()
  return data?.chains.counts ?? null
}

/** Reads rows and counts by one request, for a list that is shown already. */
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

/** The filter without the state, as each state is counted. */
function countedWith(filter: ChainFilter): ChainFilter {
  return { ...filter, state: undefined }
}

/** The key of a list; equal lists have equal keys. */
export function keyOf(search: SearchOf<'chains'>): string {
  return JSON.stringify({ ...search, dropped: undefined })
}

interface Begun {
  key: string
  at: number
  read: FirstRead
  /** The rows, once they are read. */
  listed: Listed | null
}

/** Data that was read longer ago is not used. */
const BEGUN_FOR_MS = 5_000
let begun: Begun | null = null

/**
 * Starts to read the first rows before the rest of the page is drawn. Not with a relative time, as the server's clock
 * is not known yet.
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

/** Returns the first read, once. */
export function takeBegun(key: string): FirstRead | null {
  const found = begunFor(key)
  begun = null
  return found?.read ?? null
}
