import { CAUSES, namesOfCauses } from '../../app/causes.ts'
import { useMoments } from '../../app/moments.ts'
import { Button } from '../../design/button.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import { counted } from '../../words/count.ts'
import type { Moments } from '../../words/moment.ts'
import type { ChainsSearch } from './chains-search.ts'
import { useChangeSearch } from './use-change-search.ts'

/** What narrows the list and is chosen elsewhere, each to be taken away by itself. */
export function FilterChips({ search }: { search: ChainsSearch }) {
  const change = useChangeSearch()
  const moments = useMoments()
  return chipsOf(search, moments).map(({ words, without }) => (
    <Button key={words} className="chip" title={words} aria-label={`Remove ${words}`} onClick={() => change(without)}>
      <span>{words}</span>
      <CrossIcon />
    </Button>
  ))
}

interface Chip {
  words: string
  /** What it takes away. */
  without: Partial<ChainsSearch>
}

const CAUSE_NAMES = namesOfCauses(CAUSES)

function chipsOf({ q, name, failed, exit, agent, attempts, from, to }: ChainsSearch, moments: Moments): Chip[] {
  return [
    ...(q === undefined ? [] : [{ words: `search: ${q}`, without: { q: undefined } }]),
    ...(name === undefined ? [] : [{ words: `named ${name}`, without: { name: undefined } }]),
    ...(failed === undefined
      ? []
      : [
          {
            words: failed === 'any' ? 'an attempt failed' : `an attempt failed: ${CAUSE_NAMES[failed]}`,
            without: { failed: undefined },
          },
        ]),
    ...(exit === undefined ? [] : [{ words: `failed with exit code ${exit}`, without: { exit: undefined } }]),
    ...(agent === undefined ? [] : [{ words: `failed on agent ${agent.slice(0, 8)}`, without: { agent: undefined } }]),
    ...(attempts === undefined
      ? []
      : [{ words: `${counted(attempts, 'attempt')} or more`, without: { attempts: undefined } }]),
    ...(from === undefined && to === undefined
      ? []
      : [{ words: timeWords(from, to, moments), without: { from: undefined, to: undefined } }]),
  ]
}

function timeWords(from: string | undefined, to: string | undefined, moments: Moments): string {
  const words = (at: string) => `${moments.day(Date.parse(at))}, ${moments.minute(Date.parse(at))}`
  if (from === undefined) return `before ${words(to!)}`
  if (to === undefined) return `since ${words(from)}`
  const isOneDay = moments.day(Date.parse(from)) === moments.day(Date.parse(to))
  return `${words(from)} to ${isOneDay ? moments.minute(Date.parse(to)) : words(to)}`
}
