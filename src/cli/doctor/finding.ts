/** What one check of `reprise doctor` saw. */
export interface Finding {
  what: string
  state: 'ok' | 'warning' | 'fault' | 'skipped'
  found: string
  /** What to do about it. */
  advice?: string
}
