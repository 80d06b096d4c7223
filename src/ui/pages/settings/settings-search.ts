import { oneOf, readSearch, text } from '../../app/list/search-reader.ts'

interface Dropped {
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

/** The project stays chosen from page to page. */
export interface ProjectSearch extends Dropped {
  project?: string
}

export interface TokensSearch extends ProjectSearch {
  /** Those that can no longer be used, too. */
  show?: 'all'
}

export interface WebhookSearch extends ProjectSearch {
  status?: DeliveryWord
}

export interface AuditSearch extends ProjectSearch {
  action?: string
  actor?: string
  outcome?: 'refused' | 'done'
}

export const DELIVERIES = { pending: 'PENDING', failed: 'FAILED', delivered: 'DELIVERED' } as const
export type DeliveryWord = keyof typeof DELIVERIES

type Given = Record<string, unknown>

export const readProjectSearch = (given: Given) => readSearch<ProjectSearch>({ project: text }, given)
export const readTokensSearch = (given: Given) =>
  readSearch<TokensSearch>({ project: text, show: oneOf({ all: true }) }, given)
export const readWebhookSearch = (given: Given) =>
  readSearch<WebhookSearch>({ project: text, status: oneOf(DELIVERIES) }, given)
export const readAuditSearch = (given: Given) =>
  readSearch<AuditSearch>(
    { project: text, action: text, actor: text, outcome: oneOf({ refused: true, done: true }) },
    given,
  )
