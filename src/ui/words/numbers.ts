/** The narrow space between groups of three digits; it does not break. */
const THIN_SPACE = '\u202f'
const SPACE = '\u00a0'

/** Whole numbers: `7`, `1 204`, `21 102`. */
export function count(value: number): string {
  const digits = String(Math.abs(Math.trunc(value)))
  const groups = digits.replaceAll(/\B(?=(?:\d{3})+$)/g, THIN_SPACE)
  return value <= -1 ? `\u2212${groups}` : groups
}

/** `1 attempt`, `1 204 attempts`. `plural` where an s is not enough. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)}${SPACE}${value === 1 ? noun : plural}`
}

/** Units of 1000: `312 B`, `8.1 kB`, `66 kB`, `7.9 MB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${Math.trunc(value)}${SPACE}B`
  const units = ['kB', 'MB', 'GB', 'TB', 'PB']
  let size = value / 1000
  let unit = 0
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000
    unit++
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)}${SPACE}${units[unit]}`
}

/** `0 %`, `71 %`; never `0 %` of something nor `100 %` of less than all. */
export function percentage(part: number, whole: number): string {
  if (whole === 0 || part === 0) return `0${SPACE}%`
  const rounded = Math.round((part / whole) * 100)
  const honest = part < whole ? Math.min(99, Math.max(1, rounded)) : rounded
  return `${honest}${SPACE}%`
}

const BINARY = ['', 'k', 'm', 'g', 't', 'p']

/** Slots that count bytes, such as `mem` and `cuda.mem`. */
function isMemory(slot: string): boolean {
  return slot === 'mem' || slot.endsWith('.mem')
}

/** An amount of a resource in the form of the command line: `8g`, `1.5`. */
export function amountWords(slot: string, amount: string): string {
  if (!isMemory(slot)) return amount
  let value = Number(amount)
  let unit = 0
  while (value >= 1024 && value % 1 === 0 && value / 1024 >= 1 && unit < BINARY.length - 1) {
    value /= 1024
    unit++
  }
  return `${Number(value.toFixed(2))}${BINARY[unit]}`
}

/** The same amount to three digits, for display only: `1.17g`, `0.25`, `1204`. */
export function roughAmount(slot: string, amount: string): string {
  let value = Number(amount)
  let unit = 0
  const unitMax = isMemory(slot) ? BINARY.length - 1 : 0
  while (value >= 1024 && unit < unitMax) {
    value /= 1024
    unit++
  }
  const rounded = value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
  return `${rounded}${BINARY[unit]}`
}

/** Memory in sentences, as on the command line: `312 B`, `1.1 MiB`, `64 GiB`. */
export function memoryWords(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let size = value
  let unit = 0
  while (size >= 1023.5 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${size < 9.95 && unit > 0 ? Number(size.toFixed(1)) : Math.round(size)}${SPACE}${units[unit]}`
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10)
}

const SLOT_UNITS = [
  [1024 ** 4, 't'],
  [1024 ** 3, 'g'],
  [1024 ** 2, 'm'],
  [1024, 'k'],
] as const

/** An amount in the form that can be typed: `8g` for memory, the number for others. */
export function slotWords(slot: string, amount: string): string {
  const value = Number(amount)
  if (!isMemory(slot) || value === 0) return amount
  const unit = SLOT_UNITS.find(([size]) => value % size === 0)
  return unit ? `${value / unit[0]}${unit[1]}` : amount
}

/** `cpu 8, mem 64g` → pairs. An incomplete pair has no amount, which the server refuses. */
export function readSlots(text: string): { slot: string; amount: string }[] {
  return text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [slot, ...amount] = each.split(/[\s=:]+/)
      return { slot: slot!, amount: amount.join(' ') }
    })
}

/** `model a100, at least 40g each`. */
export function gpuWords({ model, memoryBytes }: { model: string | null; memoryBytes: number | null }): string {
  const memory = memoryBytes === null ? null : `at least ${amountWords('mem', String(memoryBytes))} each`
  return [model && `model ${model}`, memory].filter(Boolean).join(', ')
}
