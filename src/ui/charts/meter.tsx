import { percentage, roughAmount } from '../words/numbers.ts'
import './charts.css'

/** The share from which a meter is marked as nearly full. */
const NEARLY_FULL = 0.9

interface Meter {
  /** The name of the resource: `cpu`. */
  name: string
  /** The share in use, 0 to 1. */
  share: number
  /** The amounts: `4 of 8`. */
  words?: string
  /** Only the bar and its name, for rows. */
  small?: boolean
}

interface SlotMeterProps {
  slot: string
  used: string
  capacity: string
  utilisation: number
  small?: boolean
}

/** A meter for a resource of an agent or a resource group. */
export function SlotMeter({ slot, used, capacity, utilisation, small = false }: SlotMeterProps) {
  const words = `${roughAmount(slot, used)} of ${roughAmount(slot, capacity)}`
  return <Meter name={slot} share={utilisation} words={words} small={small} />
}

/** The share of a resource in use, as a bar and in words. */
export function Meter({ name, share, words, small = false }: Meter) {
  const percent = percentage(share, 1)
  const filled = share === 0 ? 0 : Math.max(2, Math.min(100, share * 100))
  return (
    <div
      role="meter"
      aria-label={name}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={words === undefined ? percent : `${words}, ${percent}`}
      className={small ? 'meter small' : 'meter'}
      data-level={share >= 1 ? 'full' : share >= NEARLY_FULL ? 'high' : undefined}
      title={`${name}: ${words === undefined ? '' : `${words}, `}${percent}`}
    >
      <span className="meter-name">{name}</span>
      <span className="meter-bar">
        <span style={{ width: `${filled}%` }} />
      </span>
      {!small && words !== undefined && <span className="meter-words">{words}</span>}
      <span className="meter-percent">{percent}</span>
    </div>
  )
}
