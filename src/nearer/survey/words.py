"""The words that the survey's interface shows to participants, in every language it speaks.

What a researcher writes (title, question, welcome, consent, thanks) comes from `study.toml` and is shown as it is; here
are only the words around it: buttons, progress, breaks and what to say when the connection is lost. All languages have
the same keys. Words in braces, such as ``{done}``, are filled in by the page.
"""

from __future__ import annotations

__all__ = ["LANGUAGES", "words_of"]

ENGLISH = {
    "study": "Study",
    "no_script": "This page needs JavaScript. Please switch it on and load the page again.",
    "loading": "One moment, please...",
    "consent": "Consent",
    "agree": "I have read this and agree to take part.",
    "agree_first": "Please tick the box to take part.",
    "begin": "Start",
    "progress": "{done} of {all}",
    "progress_label": "Questions answered",
    "practice": "Practice",
    "practice_over": "Practice is over",
    "practice_over_text": "From now on, your answers count.",
    "head": "Compare with",
    "option": "Option {n}",
    "choose_this": "Choose {what}",
    "choose": "Choose {n}",
    "chosen": "{chosen} of {n} chosen",
    "too_many": "You have already chosen {n}. Take one back first.",
    "next": "Next",
    "keys_two": "Keys: left and right arrow",
    "keys_some": "Keys: 1 to {n}",
    "keys_grid": "Keys: 1 to {n}, then Enter",
    "break": "Time for a short break",
    "break_text": "You have answered {done} of {all} questions. Rest your eyes for a moment, then continue.",
    "continue": "Continue",
    "paused": "The study is paused",
    "paused_text": "Your answers are saved. Leave this page open: it continues by itself.",
    "closed": "The study is closed",
    "closed_text": "No more answers are needed at the moment. Thank you for your interest!",
    "offline": "No connection. Just go on: your answers are kept here and sent later.",
    "busy": "The server is busy. Your answers are kept in this browser and will be sent again automatically.",
    "offline_waiting": "No connection. Your answers are kept here. This page goes on once the connection is back.",
    "online": "The connection is back.",
    "stimulus_failed": "A file could not be loaded. Trying again...",
    "unseen": "A part of this question could not be loaded",
    "unseen_text": "Please try again. If that does not help, go on without this question: another one takes its place.",
    "try_again": "Try again",
    "leave_question": "Go on without it",
    "refused": "Your last answer could not be saved. Please go on from here.",
    "failed": "Something went wrong. Please allow cookies for this page and load it again.",
    "thanks": "Thank you!",
    "code": "Your completion code",
    "copy": "Copy code",
    "copied": "Copied",
    "copy_failed": "Please copy the code by hand.",
    "finish": "Finish",
    "may_leave": "All your answers are saved. You can close this page.",
    "to_finish": "All your answers are saved. One last step: press Finish below.",
}

GERMAN = {
    "study": "Studie",
    "no_script": "Diese Seite braucht JavaScript. Bitte schalten Sie es ein und laden Sie die Seite neu.",
    "loading": "Einen Moment bitte...",
    "consent": "Einwilligung",
    "agree": "Ich habe dies gelesen und bin mit der Teilnahme einverstanden.",
    "agree_first": "Bitte setzen Sie zur Teilnahme das Häkchen.",
    "begin": "Los geht's",
    "progress": "{done} von {all}",
    "progress_label": "Beantwortete Fragen",
    "practice": "Übung",
    "practice_over": "Die Übung ist vorbei",
    "practice_over_text": "Ab jetzt zählen Ihre Antworten.",
    "head": "Vergleichen mit",
    "option": "Auswahl {n}",
    "choose_this": "{what} wählen",
    "choose": "Wählen Sie {n} aus",
    "chosen": "{chosen} von {n} gewählt",
    "too_many": "Sie haben schon {n} gewählt. Nehmen Sie zuerst eine Wahl zurück.",
    "next": "Weiter",
    "keys_two": "Tasten: Pfeil links und rechts",
    "keys_some": "Tasten: 1 bis {n}",
    "keys_grid": "Tasten: 1 bis {n}, dann Enter",
    "break": "Zeit für eine kurze Pause",
    "break_text": "Sie haben {done} von {all} Fragen beantwortet. Gönnen Sie Ihren Augen eine kurze Pause.",
    "continue": "Weiter",
    "paused": "Die Studie macht Pause",
    "paused_text": "Ihre Antworten sind gespeichert. Lassen Sie diese Seite offen: Es geht von selbst weiter.",
    "closed": "Die Studie ist geschlossen",
    "closed_text": "Zurzeit werden keine Antworten mehr gebraucht. Vielen Dank für Ihr Interesse!",
    "offline": "Keine Verbindung. Machen Sie einfach weiter: Ihre Antworten bleiben hier und werden später gesendet.",
    "busy": "Der Server ist überlastet. Ihre Antworten bleiben in diesem Browser und werden automatisch gesendet.",
    "offline_waiting": "Keine Verbindung. Ihre Antworten bleiben hier. Es geht weiter, wenn die Verbindung zurück ist.",
    "online": "Die Verbindung ist wieder da.",
    "stimulus_failed": "Eine Datei konnte nicht geladen werden. Neuer Versuch...",
    "unseen": "Ein Teil dieser Frage konnte nicht geladen werden",
    "unseen_text": (
        "Bitte versuchen Sie es noch einmal. Hilft das nicht, machen Sie ohne diese Frage weiter: Eine "
        "andere kommt an ihre Stelle."
    ),
    "try_again": "Noch einmal versuchen",
    "leave_question": "Ohne sie weitermachen",
    "refused": "Ihre letzte Antwort konnte nicht gespeichert werden. Bitte machen Sie hier weiter.",
    "failed": "Etwas ist schiefgegangen. Bitte erlauben Sie Cookies für diese Seite und laden Sie sie neu.",
    "thanks": "Vielen Dank!",
    "code": "Ihr Abschlusscode",
    "copy": "Code kopieren",
    "copied": "Kopiert",
    "copy_failed": "Bitte kopieren Sie den Code von Hand.",
    "finish": "Abschließen",
    "may_leave": "Alle Antworten sind gespeichert. Sie können diese Seite schließen.",
    "to_finish": "Alle Antworten sind gespeichert. Ein letzter Schritt: Drücken Sie unten auf Abschließen.",
}

# French puts a space that does not break before a colon and an exclamation mark.
FRENCH = {
    "study": "Étude",
    "no_script": "Cette page a besoin de JavaScript. Veuillez l'activer et recharger la page.",
    "loading": "Un instant, s'il vous plaît...",
    "consent": "Consentement",
    "agree": "J'ai lu ce texte et j'accepte de participer.",
    "agree_first": "Veuillez cocher la case pour participer.",
    "begin": "Commencer",
    "progress": "{done} sur {all}",
    "progress_label": "Questions répondues",
    "practice": "Essai",
    "practice_over": "L'essai est terminé",
    "practice_over_text": "À partir de maintenant, vos réponses comptent.",
    "head": "Comparer avec",
    "option": "Option {n}",
    "choose_this": "Choisir {what}",
    "choose": "Choisissez-en {n}",
    "chosen": "Choix\u00a0: {chosen} sur {n}",
    "too_many": "Vous en avez déjà choisi {n}. Retirez d'abord un choix.",
    "next": "Suivant",
    "keys_two": "Touches\u00a0: flèches gauche et droite",
    "keys_some": "Touches\u00a0: 1 à {n}",
    "keys_grid": "Touches\u00a0: 1 à {n}, puis Entrée",
    "break": "Une petite pause",
    "break_text": "Vous avez répondu à {done} questions sur {all}. Reposez vos yeux un instant, puis continuez.",
    "continue": "Continuer",
    "paused": "L'étude est en pause",
    "paused_text": "Vos réponses sont enregistrées. Laissez cette page ouverte\u00a0: elle reprendra d'elle-même.",
    "closed": "L'étude est fermée",
    "closed_text": "Nous n'avons plus besoin de réponses pour le moment. Merci de votre intérêt\u00a0!",
    "offline": "Pas de connexion. Continuez\u00a0: vos réponses sont gardées ici et seront envoyées plus tard.",
    "busy": "Le serveur est surchargé. Vos réponses sont gardées dans ce navigateur et seront renvoyées.",
    "offline_waiting": "Pas de connexion. Vos réponses sont gardées ici. La page reprendra au retour de la connexion.",
    "online": "La connexion est rétablie.",
    "stimulus_failed": "Un fichier n'a pas pu être chargé. Nouvel essai...",
    "unseen": "Une partie de cette question n'a pas pu être chargée",
    "unseen_text": (
        "Veuillez réessayer. Si cela ne suffit pas, continuez sans cette question\u00a0: une autre la remplacera."
    ),
    "try_again": "Réessayer",
    "leave_question": "Continuer sans elle",
    "refused": "Votre dernière réponse n'a pas pu être enregistrée. Veuillez continuer à partir d'ici.",
    "failed": "Un problème est survenu. Veuillez autoriser les cookies pour cette page et la recharger.",
    "thanks": "Merci beaucoup\u00a0!",
    "code": "Votre code de fin",
    "copy": "Copier le code",
    "copied": "Copié",
    "copy_failed": "Veuillez copier le code à la main.",
    "finish": "Terminer",
    "may_leave": "Toutes vos réponses sont enregistrées. Vous pouvez fermer cette page.",
    "to_finish": "Toutes vos réponses sont enregistrées. Une dernière étape\u00a0: appuyez sur Terminer ci-dessous.",
}

SPANISH = {
    "study": "Estudio",
    "no_script": "Esta página necesita JavaScript. Actívelo y vuelva a cargar la página.",
    "loading": "Un momento, por favor...",
    "consent": "Consentimiento",
    "agree": "He leído este texto y acepto participar.",
    "agree_first": "Marque la casilla para participar.",
    "begin": "Empezar",
    "progress": "{done} de {all}",
    "progress_label": "Preguntas respondidas",
    "practice": "Práctica",
    "practice_over": "La práctica ha terminado",
    "practice_over_text": "A partir de ahora, sus respuestas cuentan.",
    "head": "Comparar con",
    "option": "Opción {n}",
    "choose_this": "Elegir {what}",
    "choose": "Elija {n}",
    "chosen": "Opciones elegidas: {chosen} de {n}",
    "too_many": "Ya ha elegido {n}. Quite primero una opción.",
    "next": "Siguiente",
    "keys_two": "Teclas: flechas izquierda y derecha",
    "keys_some": "Teclas: 1 a {n}",
    "keys_grid": "Teclas: 1 a {n}, luego Intro",
    "break": "Un pequeño descanso",
    "break_text": "Ha respondido {done} de {all} preguntas. Descanse la vista un momento y continúe cuando quiera.",
    "continue": "Continuar",
    "paused": "El estudio está en pausa",
    "paused_text": "Sus respuestas están guardadas. Deje esta página abierta: continuará por sí sola.",
    "closed": "El estudio está cerrado",
    "closed_text": "Por ahora no hacen falta más respuestas. ¡Gracias por su interés!",
    "offline": "Sin conexión. Siga adelante: sus respuestas se guardan aquí y se enviarán más tarde.",
    "busy": "El servidor está saturado. Sus respuestas se guardan en este navegador y se reenviarán.",
    "offline_waiting": "Sin conexión. Sus respuestas se guardan aquí. La página seguirá en cuanto vuelva la conexión.",
    "online": "La conexión ha vuelto.",
    "stimulus_failed": "No se pudo cargar un archivo. Probando de nuevo...",
    "unseen": "No se pudo cargar una parte de esta pregunta",
    "unseen_text": "Inténtelo de nuevo. Si no funciona, continúe sin esta pregunta: otra ocupará su lugar.",
    "try_again": "Intentar de nuevo",
    "leave_question": "Continuar sin ella",
    "refused": "Su última respuesta no se pudo guardar. Continúe desde aquí.",
    "failed": "Algo ha fallado. Permita las cookies para esta página y vuelva a cargarla.",
    "thanks": "¡Muchas gracias!",
    "code": "Su código de finalización",
    "copy": "Copiar el código",
    "copied": "Copiado",
    "copy_failed": "Copie el código a mano.",
    "finish": "Finalizar",
    "may_leave": "Todas sus respuestas están guardadas. Puede cerrar esta página.",
    "to_finish": "Todas sus respuestas están guardadas. Un último paso: pulse Finalizar abajo.",
}

BY_LANGUAGE = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH}
LANGUAGES = tuple(BY_LANGUAGE)


def words_of(language: str) -> dict[str, str]:
    """Return the interface's words in a language.

    Parameters
    ----------
    language : str
        One of `LANGUAGES`, such as "en".

    Returns
    -------
    dict of str to str
        A copy, so that a study may change words of its own.

    Examples
    --------
    >>> words_of("de")["next"]
    'Weiter'
    """
    if language not in BY_LANGUAGE:
        raise ValueError(f"there are no words in the language {language!r}; write one of {', '.join(LANGUAGES)}")
    return dict(BY_LANGUAGE[language])
