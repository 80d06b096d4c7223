import { client } from './begin.ts'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Provider } from 'urql'
import { router } from './routes.tsx'
import './design/base.css'

// Drawn when the page's code is loaded: React would delay the page by 300 ms after a placeholder. Until
// then the frame of index.html is seen.
void router.load().finally(() =>
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <Provider value={client}>
        <RouterProvider router={router} />
      </Provider>
    </StrictMode>,
  ),
)
