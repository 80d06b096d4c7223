import { lazy, Suspense, useState, type ComponentProps } from 'react'
import type { Button } from '../../design/button.tsx'
import { GuardedButton } from '../form/guarded-button.tsx'
import { noAdministration } from '../form/rights.ts'
import { useViewer } from '../viewer.ts'
import type { UiSwitchFragment } from './switches.generated.ts'

const SwitchForm = lazy(async () => ({ default: (await import('./switch-form.tsx')).SwitchForm }))

interface Props extends ComponentProps<typeof Button> {
  /** Missing: one that is named in the form. */
  changed?: UiSwitchFragment
  /** What is chosen at first. */
  retries: 'off' | 'on' | 'same'
  onDone: () => void
}

/** Opens the form that switches retries; says why where the viewer may not. */
export function SwitchButton({ changed, retries, onDone, ...button }: Props) {
  const [isOpen, setOpen] = useState(false)
  const refusal = noAdministration(useViewer(), changed?.scope ?? 'PROJECT')
  return (
    <>
      <GuardedButton {...button} refusal={refusal} onClick={() => setOpen(true)} />
      <Suspense>
        {isOpen && (
          <SwitchForm
            changed={changed}
            retries={retries}
            onClose={() => setOpen(false)}
            onDone={() => {
              setOpen(false)
              onDone()
            }}
          />
        )}
      </Suspense>
    </>
  )
}
