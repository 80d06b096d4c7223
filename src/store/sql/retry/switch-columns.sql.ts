import type { SwitchState } from '../../../domain/retry/switch-state.ts'

/** The columns of a switch's state, from `retry_switches w`. */
export const STATE_COLUMNS = `w.disabled, w.disabled_until AS "disabledUntil", w.disabled_then AS "disabledThen",
  w.per_second AS "perSecond", w.burst, w.limit_until AS "limitUntil", w.per_second_then AS "perSecondThen",
  w.burst_then AS "burstThen"`

export interface SwitchColumns {
  disabled: boolean
  disabledUntil: Date | null
  disabledThen: boolean
  perSecond: number | null
  burst: number | null
  limitUntil: Date | null
  perSecondThen: number | null
  burstThen: number | null
}

export function stateOf(columns: SwitchColumns): SwitchState {
  return {
    disabled: { value: columns.disabled, until: columns.disabledUntil, afterwards: columns.disabledThen },
    rateLimit: {
      value: limitOf(columns.perSecond, columns.burst),
      until: columns.limitUntil,
      afterwards: limitOf(columns.perSecondThen, columns.burstThen),
    },
  }
}

function limitOf(perSecond: number | null, burst: number | null) {
  return perSecond === null || burst === null ? null : { perSecond, burst }
}
