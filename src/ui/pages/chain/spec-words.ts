import { amountWords } from '../../words/numbers.ts'

interface Difference {
  field: string
  before?: string | null
  after: string | null
}

/** `sha256:` and twelve digits. */
const DIGEST_SHOWN = 19

/** `mem 4g to 8g`, `LR = 0.1`, `without FLAG`. */
export function differenceWords({ field, before, after }: Difference): string {
  const name = field.startsWith('gpus.') ? field.replace('gpus.', 'GPU ') : field.slice(field.lastIndexOf('.') + 1)
  const slot = field.startsWith('resourceSlots.') ? name : field === 'gpus.memory' ? 'mem' : ''
  const shown = (value: string) => (field === 'imageDigest' ? value.slice(0, DIGEST_SHOWN) : amountWords(slot, value))
  if (after === null) return `without ${name}`
  return before == null ? `${name} = ${shown(after)}` : `${name} ${shown(before)} to ${shown(after)}`
}
