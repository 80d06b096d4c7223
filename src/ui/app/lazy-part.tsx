import { Component, type ComponentType, createElement, type FunctionComponent, type ReactNode, useEffect } from 'react'
import { createPortal } from 'react-dom'
import { problemOf } from '../api/problem.ts'
import { useStore } from '../api/store.ts'
import { Button } from '../design/controls.tsx'
import { type LazyPart, lazyPart, loadWhenPossible, type PartState, preloadLater } from './part-loader.ts'
import './app.css'

/** A page whose code is loaded with its route. If that fails, a message is shown in its place until it is loaded. */
export function lazyPage<Module extends object, Name extends keyof Module>(
  importModule: () => Promise<Module>,
  name: Name,
): FunctionComponent & { preload: () => Promise<void> } {
  const part = lazyPart(importModule, name)
  const Page = () => {
    const state = usePart(part)
    if (state.kind === 'loaded') return createElement(state.Component as ComponentType)
    return state.kind === 'failed' ? <PageMissing part={part} why={state.why} /> : null
  }
  return Object.assign(Page, { preload: part.preload })
}

/** A dialog whose code is loaded when it opens or when the page is idle. A failure leaves the page as it is. */
export function lazyDialog<Module extends object, Name extends keyof Module>(
  importModule: () => Promise<Module>,
  name: Name,
): Module[Name] {
  const part = lazyPart(importModule, name)
  preloadLater(part)
  const Dialog = (props: { onClose?: () => void }) => {
    const state = usePart(part)
    if (state.kind === 'failed')
      return <PartMissing part={part} why={state.why} noun="dialog" onClose={props.onClose} />
    if (state.kind !== 'loaded') return null
    return (
      <DialogBoundary onClose={props.onClose}>
        {createElement(state.Component as ComponentType<typeof props>, props)}
      </DialogBoundary>
    )
  }
  return Dialog as Module[Name]
}

/** Loads the part while the component is shown and `isWanted`. */
export function usePart<Loaded>(part: LazyPart<Loaded>, isWanted = true): PartState<Loaded> {
  const state = useStore(part.state)
  useEffect(() => {
    if (!isWanted) return
    // An earlier failure does not count.
    if (part.state.get().kind === 'failed') part.state.set({ kind: 'waiting' })
    void part.load()
  }, [part, isWanted])
  return state
}

interface MissingProps {
  part: LazyPart<unknown>
  why: (PartState<unknown> & { kind: 'failed' })['why']
}

/** Tries to load the part while it is missing. */
function useTries({ part }: MissingProps): void {
  useEffect(() => {
    const ended = new AbortController()
    void loadWhenPossible(part, ended.signal)
    return () => ended.abort()
  }, [part])
}

const reload = () => location.reload()

function PageMissing(props: MissingProps) {
  const { part, why } = props
  useTries(props)
  return (
    <div className="problem-panel" role="alert">
      <h1 tabIndex={-1}>{why === 'other-version' ? 'A new version is available' : 'This page could not be loaded'}</h1>
      <p>
        {why === 'no-answer'
          ? 'The server does not answer. The page is shown as soon as it does.'
          : why === 'other-version'
            ? 'The server has been upgraded. Reload to open this page.'
            : 'The server answers, but the code of this page could not be loaded.'}
      </p>
      <MissingButtons part={part} why={why} />
    </div>
  )
}

interface PartMissingProps extends MissingProps {
  noun: 'dialog' | 'menu'
  onClose: (() => void) | undefined
}

/** Shown while something that the user has opened cannot be loaded; then that opens. */
export function PartMissing({ noun, onClose, ...props }: PartMissingProps) {
  const { part, why } = props
  useTries(props)
  return createPortal(
    <div className="part-missing" role="alert">
      <p>
        {why === 'no-answer'
          ? `The server does not answer. The ${noun} opens as soon as it does.`
          : why === 'other-version'
            ? `A new version is available. Reload to open this ${noun}.`
            : `The code of this ${noun} could not be loaded.`}
      </p>
      <MissingButtons part={part} why={why} />
      {onClose && <Button onClick={onClose}>Close</Button>}
    </div>,
    document.body,
  )
}

/** A failed load is tried again without a reload, as long as that can succeed. */
function MissingButtons({ part, why }: MissingProps) {
  return (
    <>
      {why !== 'other-version' && <Button onClick={() => void part.load()}>Try again</Button>}
      {why !== 'no-answer' && (
        <Button kind="primary" onClick={reload}>
          Reload
        </Button>
      )}
    </>
  )
}

/** Shown in place of a page that threw an error. */
export function PageFailed({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <div className="problem-panel" role="alert">
      <h1 tabIndex={-1}>This page has failed</h1>
      <p>
        This is a fault of the web UI. The message was: <code>{problemOf(error).message}</code>
      </p>
      <Button onClick={reset}>Try again</Button>
      <Button onClick={reload}>Reload</Button>
    </div>
  )
}

/** Shows a message in place of a dialog that threw an error; the page stays. */
class DialogBoundary extends Component<
  { onClose: (() => void) | undefined; children: ReactNode },
  { error: unknown; hasFailed: boolean }
> {
  override state = { error: null as unknown, hasFailed: false }
  static getDerivedStateFromError(error: unknown) {
    return { error, hasFailed: true }
  }
  override render() {
    const { onClose, children } = this.props
    if (!this.state.hasFailed) return children
    return createPortal(
      <div className="part-missing" role="alert">
        <p>
          This dialog has failed. The message was: <code>{problemOf(this.state.error).message}</code>
        </p>
        <Button onClick={() => this.setState({ hasFailed: false })}>Try again</Button>
        {onClose && <Button onClick={onClose}>Close</Button>}
      </div>,
      document.body,
    )
  }
}
