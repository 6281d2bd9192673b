;;; execward.el --- A client of execward  -*- lexical-binding: t; -*-

;;; Commentary:

;; For Emacs 28 or newer, with its own jsonrpc.el.  Messages have Content-Length headers.
;;
;; It plays the scene that all examples play: it runs a command and prints the output as it comes,
;; answers a question, types into a terminal, and ends the server.
;;
;; usage: emacs -Q --batch -l execward.el [SERVER COMMAND...]        (default: execward serve)

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)

(cl-defstruct execward-call
  "A call of exec/command."
  on-output   ; gets pieces of text
  running     ; processes of it; a second attempt is a second program
  answer      ; of exec/command, a plist
  problem     ; an error in its place
  last-end)   ; the params of exec/end

(defvar execward--calls nil "Alist of callId and `execward-call'.")

(defun execward-start (command ask)
  "Start the server COMMAND.
ASK is a function that gets the params of a question and answers it."
  (let ((name "execward"))
    (make-instance
     'jsonrpc-process-connection
     :name name
     :process
     (lambda ()
       (make-process
        :name name :command command :connection-type 'pipe :noquery t
        :coding 'utf-8-emacs-unix
        ;; Without this, stderr goes into stdout and breaks the messages.  jsonrpc.el wants this name.
        :stderr (get-buffer-create (format "*%s stderr*" name))))
     ;; A function that signals an error denies.
     :request-dispatcher (lambda (_server method params)
                           (if (eq method 'approval/request)
                               (funcall ask params)
                             (jsonrpc-error :code -32601 :message "no such method")))
     :notification-dispatcher (lambda (_server method params)
                                (execward--take-event method params)))))

(defun execward--take-event (method params)
  "Take the notification METHOD with PARAMS."
  (when-let ((call (cdr (assoc (plist-get params :callId) execward--calls))))
    (pcase method
      ('exec/begin (push (plist-get params :processId) (execward-call-running call)))
      ('exec/outputDelta (funcall (execward-call-on-output call) (plist-get params :delta)))
      ('exec/end
       (cl-callf2 delete (plist-get params :processId) (execward-call-running call))
       (setf (execward-call-last-end call) params)))))

(defun execward--wait (server condition)
  "Take what SERVER says until CONDITION, a function, is true."
  (while (not (funcall condition))
    (unless (or (accept-process-output nil 0.1) (jsonrpc-running-p server))
      (error "The server is gone"))))

;; `jsonrpc-request' is not for us.  It gives up after ten seconds, and a person may think longer.  And
;; it leaves by `throw', through the function that reads: a message that came together with the answer
;; is then read only when yet another one comes, which may be never.
(defun execward-request (server method &optional params)
  "Send SERVER the request METHOD with PARAMS; wait for its result."
  (let (done result problem)
    (jsonrpc-async-request server method params :timeout nil
                           :success-fn (lambda (value) (setq done t result value))
                           :error-fn (lambda (value) (setq done t problem value)))
    (execward--wait server (lambda () done))
    (when problem (error "%s: %s" method (plist-get problem :message)))
    result))

(defun execward-command (server params on-output)
  "Start a command on SERVER; return at once.
PARAMS are those of exec/command, ON-OUTPUT gets its output."
  (let* ((call (make-execward-call :on-output on-output))
         (call-id (format "call-%d" (1+ (length execward--calls)))))
    (push (cons call-id call) execward--calls)
    (jsonrpc-async-request server 'exec/command `(:callId ,call-id ,@params) :timeout nil
                           :success-fn (lambda (value) (setf (execward-call-answer call) value))
                           :error-fn (lambda (value) (setf (execward-call-problem call) value)))
    call))

(defun execward-answer (server call)
  "Wait until SERVER answers CALL.  The program may still run then."
  (execward--wait server (lambda () (or (execward-call-answer call) (execward-call-problem call))))
  (when-let ((problem (execward-call-problem call)))
    (error "exec/command: %s" (plist-get problem :message)))
  (execward-call-answer call))

(defun execward-end (server call)
  "Wait for SERVER to answer CALL, and for the end of all that CALL began.
The answer can come before the last output.  Return the params of the last
exec/end, or the answer if nothing ran."
  (let ((answer (execward-answer server call)))
    (execward--wait server (lambda () (null (execward-call-running call))))
    (or (execward-call-last-end call) answer)))

(defun execward-close (server)
  "End SERVER and all that it runs; return its exit status."
  (execward-request server 'shutdown)
  (jsonrpc-notify server 'exit nil)
  ;; Not `jsonrpc-shutdown': it kills the server, which then has no chance to end in order.
  (while (jsonrpc-running-p server) (accept-process-output nil 0.1))
  (process-exit-status (jsonrpc--process server)))

(defun execward-last-words (server)
  "What SERVER said on stderr."
  (with-current-buffer (jsonrpc-stderr-buffer server)
    ;; When it dies, its last words may still be in the pipe.
    (when-let ((pipe (get-buffer-process (current-buffer))))
      (accept-process-output pipe 1))
    (buffer-string)))

;; The scene that all examples play.

(defun execward-show (format &rest arguments)
  "Print ARGUMENTS by FORMAT on stdout, now; `princ' would keep it for later."
  (send-string-to-terminal (apply #'format format arguments)))

(defun execward-approve (question)
  "Show QUESTION, and answer it.
A real client lets a person choose; this one takes \"run it this once\"."
  (cl-destructuring-bind (&key command workdir reason justification notes
                               hasInvisibleCharacters hasMixedScripts &allow-other-keys)
      (plist-get question :display)
    (execward-show "question: %s\n  in %s\n  because %s\n" command workdir reason)
    (when justification (execward-show "  the caller says: %s\n" justification))
    (mapc (lambda (note) (execward-show "  note: %s\n" note)) notes)
    (when (or (eq hasInvisibleCharacters t) (eq hasMixedScripts t)) ; false is :json-false
      (execward-show "  WARNING: it has characters that are easily mistaken\n")))
  (let ((decision (if (cl-some (lambda (choice) (equal (plist-get choice :decision) "approved"))
                               (plist-get question :availableDecisions))
                      "approved"
                    "denied")))
    (execward-show "answer: %s\n" decision)
    (list :decision decision)))

(defun execward-run (server params)
  "Let SERVER run a command to its end, and show its output.
PARAMS are those of exec/command."
  (let ((call (execward-command server params (lambda (text) (execward-show "%s" text)))))
    (execward-show "exit code %d\n" (plist-get (execward-end server call) :exitCode))))

(defun execward-play (server)
  "Play the scene with SERVER; return its exit status."
  (let ((info (execward-request server 'initialize
                                `(:clientName "emacs-example" :processId ,(emacs-pid)
                                  :capabilities (:approvals t :extensions t)))))
    (jsonrpc-notify server 'initialized nil)
    (execward-show "connected to %s\n" (plist-get (plist-get info :serverInfo) :name)))

  (execward-show "1. output as it comes\n")
  (execward-run server '(:command "mkdir -p execward-example; \
for n in 1 2 3; do echo \"tick $n\"; sleep 0.1; done"))

  (execward-show "2. a question\n")
  (execward-run server '(:command "rm -rf execward-example" :justification "The example is over."))

  (execward-show "3. a terminal\n")
  (let* ((call (execward-command
                server
                '(:command "printf 'name? '; read -r name; echo \"hello, $name\"" :tty t :quietMs 200)
                (lambda (text) (execward-show "%s" text))))
         (process-id (plist-get (execward-answer server call) :processId)))
    (execward-request server 'exec/writeStdin `(:processId ,process-id :chars "Ada\n"))
    (execward-show "exit code %d\n" (plist-get (execward-end server call) :exitCode)))

  (let ((status (execward-close server)))
    (execward-show "the server ended with status %d\n" status)
    status))

(when noninteractive
  (let* ((command (or command-line-args-left '("execward" "serve")))
         (server nil))
    (setq command-line-args-left nil)   ; or Emacs takes them for files to visit
    (condition-case problem
        (kill-emacs (execward-play (setq server (execward-start command #'execward-approve))))
      (error
       (message "%s" (error-message-string problem))
       (when server
         (message "%s" (execward-last-words server)))
       (kill-emacs 1)))))

(provide 'execward)
;;; execward.el ends here
