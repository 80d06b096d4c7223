import { useState } from 'react'
import { useSend } from '../app/act/act.ts'
import { toast } from '../app/toasts.tsx'
import { Button } from '../design/button.tsx'
import { UiAbortResubmissionDocument, type UiOutcomeFragment } from './bulk.generated.ts'

/** What was done stays done. */
export function AbortButton({ id, onAborted }: { id: string; onAborted: (outcome: UiOutcomeFragment) => void }) {
  const send = useSend()
  const [isBusy, setBusy] = useState(false)
  const abort = async () => {
    setBusy(true)
    const { done, problem } = await send(UiAbortResubmissionDocument, { resubmissionId: id })
    setBusy(false)
    if (problem) toast('refused', problem.message)
    else onAborted(done.resubmission)
  }
  return (
    <Button kind="danger" disabled={isBusy} onClick={() => void abort()}>
      Stop here
    </Button>
  )
}
